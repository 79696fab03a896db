// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Widgets whose signals call what was connected: several closures and values of any type in one object, far from its beginning,
 * arrays of them, and slots that own what only a template's instance can destroy. Each function that knows a type is beside the
 * pointer to what has it, and has no variable of that type.
 */
#include "t/truth/library.h"

#include <any>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

enum {
	WIDGETS = 120,
	TIMERS = 300,
	EVENTS = 4,
	SLOTS = 6,
};

struct Point {
	double x, y, z;
};

struct Theme {
	std::string font;
	Point *origin;
	long sizes[4];
};

struct Shortcut {
	Point *target;
	std::string keys;
	unsigned modifiers;
};

struct Cursor {
	double hot_x, hot_y;
	Point *shape;
	long frames;
};

struct Sound {
	std::string path;
	double volume;
	double pan;
	Point *place;
	long repeats;
};

struct Gesture {
	Point *from, *to;
	double speed;
	long fingers;
	double angle;
	double pressure[3];
};

// The beginning of a widget, which no function is in.
struct Style {
	double margins[4], paddings[4], borders[4];
	uint32_t colors[16];
};

// A pointer to anything, and the function that destroys it: an instance of a template for what it is.
struct Slot {
	void *value;
	void (*destroy)(void *value);
};

template <class T> static void destroy_as(void *value)
{
	delete static_cast<T *>(value);
}

struct Widget {
	Style style;
	std::function<int(int)> clicked;
	std::function<int(int)> moved;
	std::any theme;
	std::any shortcut;
	std::array<std::function<int()>, EVENTS> events;
	Slot slots[SLOTS];
	long id;
};

struct Timer {
	long due;
	std::function<int()> run;
};

struct World {
	std::vector<Widget *> widgets;
	std::vector<Timer> timers;
};

World *world;

static Point *new_point(int number)
{
	Point *point = OF(Point, new Point);

	point->x = number;
	point->y = number * 0.5;
	point->z = 1;
	return point;
}

static std::string text_of(const char *what, int number)
{
	return std::string(what) + " that is too long for the string itself " +
	       std::to_string(number);
}

static void connect_events(Widget *widget, int number)
{
	for (int i = 0; i < EVENTS; i++) {
		Point *point = new_point(i);
		std::string text = text_of("an event", i);

		if (i % 2 == 0)
			widget->events[i] = [text, number, point] {
				return static_cast<int>(text.size()) + number +
				       static_cast<int>(point->x);
			};
		else
			widget->events[i] = [point, number, widget] {
				return static_cast<int>(point->y) + number +
				       static_cast<int>(widget->id);
			};
		log_held(&widget->events[i], 0, "(no name)");
	}
}

static void fill_slots(Widget *widget, int number)
{
	for (int i = 0; i < SLOTS; i++) {
		if ((number + i) % 3 == 0) {
			auto *cursor = OF(Cursor, new Cursor{});

			cursor->hot_x = i * 0.75;
			cursor->shape = new_point(i);
			widget->slots[i] = { cursor, destroy_as<Cursor> };
		} else if ((number + i) % 3 == 1) {
			auto *sound = OF(Sound, new Sound{});

			sound->path = text_of("a sound", i);
			sound->volume = i * 1.5;
			sound->place = new_point(i);
			log_text(sound->path);
			widget->slots[i] = { sound, destroy_as<Sound> };
		} else {
			auto *gesture = OF(Gesture, new Gesture{});

			gesture->from = new_point(i);
			gesture->to = new_point(number);
			gesture->angle = 0.25 * i;
			widget->slots[i] = { gesture, destroy_as<Gesture> };
		}
	}
}

static void add_widget(int number)
{
	auto *widget = OF(Widget, new Widget{});
	Point *point = new_point(number);
	std::string text = text_of("a caption", number);
	Theme theme{ text_of("a font", number), new_point(number), { 1, 2, 3, number } };
	Shortcut shortcut{ new_point(number), text_of("the keys", number), 3 };

	widget->id = number;
	widget->style.margins[0] = number * 0.5;
	widget->style.colors[3] = 0xff00ff;
	widget->clicked = [point, text](int more) {
		return static_cast<int>(point->x) + static_cast<int>(text.size()) + more;
	};
	widget->moved = [widget, number, place = new_point(number)](int more) {
		return static_cast<int>(widget->id) + number + more + static_cast<int>(place->z);
	};
	widget->theme = theme;
	widget->shortcut = shortcut;
	log_held(&widget->clicked, 0, "(no name)");
	log_held(&widget->moved, 0, "(no name)");
	log_held(&widget->theme, 8, "Theme");
	log_held(&widget->shortcut, 8, "Shortcut");
	log_text(std::any_cast<Theme &>(widget->theme).font);
	log_text(std::any_cast<Shortcut &>(widget->shortcut).keys);
	connect_events(widget, number);
	fill_slots(widget, number);
	world->widgets.push_back(widget);
}

static void add_timer(int number)
{
	Point *point = new_point(number);
	std::string text = text_of("a timer", number);

	if (number % 2 == 0)
		world->timers.push_back({ number, [point, text, number] {
						 return static_cast<int>(point->x) + number +
							static_cast<int>(text.size());
					 } });
	else
		world->timers.push_back({ number, [text, due = number * 1.5, point, copy = text] {
						 return static_cast<int>(due + point->z) +
							static_cast<int>(text.size() + copy.size());
					 } });
}

int main(void)
{
	int total = 0;

	world = OF(World, new World);
	for (int i = 0; i < WIDGETS; i++)
		add_widget(i);
	for (int i = 0; i < TIMERS; i++)
		add_timer(i);
	for (auto &timer : world->timers)
		log_held(&timer.run, 0, "(no name)");
	truth_capture();
	for (auto *widget : world->widgets) {
		total += widget->clicked(1) + widget->moved(2);
		for (auto &event : widget->events)
			total += event();
		for (auto &slot : widget->slots)
			slot.destroy(slot.value);
	}
	for (auto &timer : world->timers)
		total += timer.run();
	printf("%d\n", total);
	return 0;
}
