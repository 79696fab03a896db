// SPDX-License-Identifier: GPL-3.0-or-later
// A known heap of Rust's maps and sets, to whose blocks only they lead. t/end-to-end/rust.t has the numbers.
use std::alloc::System;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: System = System;

pub struct Point {
    pub x: f64,
    pub y: f64,
    pub z: f64,
}

pub struct Session {
    pub id: u64,
    pub user: String,
    pub points: Vec<Point>,
    pub variables: HashMap<String, String>,
}

pub struct World {
    pub sessions: HashMap<u64, Box<Session>>,
    pub by_name: HashMap<String, Arc<Point>>,
    pub words: HashSet<String>,
    pub nested: HashMap<u32, HashMap<String, Rc<Point>>>,
}

fn point(number: u64) -> Point {
    Point { x: number as f64, y: 1.5, z: 2.5 }
}

fn session(id: u64) -> Session {
    Session {
        id,
        user: format!("the user of session {id}"),
        points: (0..3).map(point).collect(),
        variables: (0..id % 6).map(|i| (format!("variable {i}"), format!("its value {i}"))).collect(),
    }
}

fn world() -> Box<World> {
    Box::new(World {
        sessions: (0..60).map(|i| (i, Box::new(session(i)))).collect(),
        by_name: (0..70).map(|i| (format!("point {i}"), Arc::new(point(i)))).collect(),
        words: (0..80).map(|i| format!("the word {i}")).collect(),
        nested: (0..20)
            .map(|i| (i, (0..5).map(|k| (format!("nested point {k}"), Rc::new(point(k)))).collect()))
            .collect(),
    })
}

fn main() {
    let kept = world();
    let here: &World = &kept;
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut byte = [0u8; 1];
    let _ = std::io::stdin().read(&mut byte);
    println!("done {}", here.sessions.len() + here.by_name.len() + here.words.len() + here.nested.len());
}
