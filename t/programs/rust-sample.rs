// SPDX-License-Identifier: GPL-3.0-or-later
// A known heap of Rust: its containers, owners and enums, by the System allocator, which is
// malloc. t/end-to-end/rust.t has the numbers.
use std::alloc::System;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: System = System;

pub struct Item {
    pub number: i32,
    pub price: f64,
    pub name: String,
}

pub enum Shape {
    Circle { radius: f64 },
    Square(f64),
    Named(String, Box<Item>),
    Empty,
}

pub struct Node {
    pub value: u64,
    pub next: Option<Box<Node>>,
}

pub struct Shop {
    pub name: String,
    pub items: Vec<Item>,
    pub shapes: Vec<Shape>,
    pub numbers: Vec<u32>,
    pub texts: Vec<String>,
    pub first: Box<Item>,
    pub shared: Rc<Item>,
    pub shared_too: Rc<Item>,
    pub atomically: Arc<Item>,
    pub cell: Rc<RefCell<Vec<u16>>>,
    pub by_name: HashMap<String, u32>,
    pub ordered: BTreeMap<u32, String>,
    pub queue: VecDeque<u64>,
    pub slice: Box<[u8]>,
    pub list: Option<Box<Node>>,
}

fn item(number: i32, name: &str) -> Item {
    Item { number, price: number as f64 * 1.5, name: name.to_string() }
}

fn list(length: u64) -> Option<Box<Node>> {
    let mut head = None;
    for value in (0..length).rev() {
        head = Some(Box::new(Node { value, next: head }));
    }
    head
}

fn shop() -> Box<Shop> {
    let shared = Rc::new(item(41, "shared"));
    let mut numbers = Vec::with_capacity(16);
    numbers.extend((0..10).map(|number| number * number));
    let mut items = Vec::with_capacity(8);
    for number in 0..5 {
        items.push(item(number, "an item of the shop"));
    }
    Box::new(Shop {
        name: String::from("The corner shop"),
        items,
        shapes: vec![
            Shape::Circle { radius: 1.5 },
            Shape::Square(2.5),
            Shape::Named(String::from("a named shape"), Box::new(item(31, "in a shape"))),
            Shape::Empty,
        ],
        numbers,
        texts: vec![String::from("one"), String::from("two"), String::new()],
        first: Box::new(item(21, "first")),
        shared_too: shared.clone(),
        shared,
        atomically: Arc::new(item(51, "atomically")),
        cell: Rc::new(RefCell::new(vec![7, 8, 9])),
        by_name: (0..5).map(|number| (format!("key {number}"), number)).collect(),
        ordered: (0..5).map(|number| (number, format!("value {number}"))).collect(),
        queue: (0..6).collect(),
        slice: vec![1, 2, 3, 4].into_boxed_slice(),
        list: list(4),
    })
}

fn main() {
    let kept = shop();
    let here: &Shop = &kept;
    println!("ready");
    std::io::stdout().flush().unwrap();
    let mut byte = [0u8; 1];
    let _ = std::io::stdin().read(&mut byte);
    println!("done {}", here.items.len() + here.shapes.len() + here.numbers.len());
}
