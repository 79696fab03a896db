// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Widgets that leaked, with closures that begin with a pointer to their widget. The functions in a widget make it no table of
 * methods, and the union that they get is no closure.
 */
#include "t/truth/library.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>

enum {
	WIDGETS = 60,
	EVENTS = 6,
};

struct Point {
	double x, y;
};

struct Widget {
	double margins[4];
	std::function<int(int)> clicked;
	std::function<int(int)> moved;
	std::array<std::function<int(int)>, EVENTS> events;
	long id;
};

static uint64_t hidden[WIDGETS]; // no pointers

int main(void)
{
	int total = 0;

	for (int i = 0; i < WIDGETS; i++) {
		auto *widget = OF(Widget, new Widget{});
		auto *place = OF(Point, new Point());

		place->x = i * 0.5;

		widget->id = i;
		widget->clicked = [widget, i, place](int more) {
			return static_cast<int>(widget->id) + i + more + static_cast<int>(place->x);
		};
		widget->moved = [widget, place, more = i](int by) {
			return static_cast<int>(widget->id) + more * by +
			       static_cast<int>(place->y);
		};
		for (int j = 0; j < EVENTS; j++) {
			widget->events[j] = [widget, place, j](int more) {
				return static_cast<int>(widget->id) + j * more +
				       static_cast<int>(place->x + place->y);
			};
			log_held(&widget->events[j], 0, "(no name)");
		}
		log_held(&widget->clicked, 0, "(no name)");
		log_held(&widget->moved, 0, "(no name)");
		hidden[i] = ~reinterpret_cast<uint64_t>(widget);
	}
	truth_capture();
	for (uint64_t word : hidden)
		total += reinterpret_cast<Widget *>(~word)->clicked(1) +
			 reinterpret_cast<Widget *>(~word)->moved(2);
	printf("%d\n", total);
	return 0;
}
