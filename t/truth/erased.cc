// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values whose type only a function beside the pointer to them knows: the closures of std::function, what std::any holds, a
 * box of one's own with a table of functions, and the states of threads.
 */
#include "t/truth/library.h"

#include <any>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

enum {
	DOCUMENTS = 100,
	BOXES = 60,
};

struct Point {
	double x, y, z = 1;
};

struct Extra {
	std::string note;
	double weights[4];
	Point *where;
};

struct Style {
	Point *origin;
	std::string font;
	std::string color;
	int size;
};

// A functor with a name.
struct Scale {
	double factors[3];
	Point *center;
	std::string unit;
	int operator()(int number) const
	{
		return number + static_cast<int>(factors[0]) + static_cast<int>(unit.size());
	}
};

static Point *new_point(int number)
{
	Point *point = OF(Point, new Point);

	point->x = number;
	point->y = number * 0.5;
	return point;
}

// --- a box of one's own --------------------------------------------------------

// As many libraries erase types: a void pointer, and a table of functions made for the type.
class Box
{
      public:
	template <class T> explicit Box(T *value) : value_(value), table_(&table_for<T>)
	{
	}
	int measure() const
	{
		return table_->measure(value_);
	}

      private:
	struct Table {
		int (*measure)(const void *value);
		void (*destroy)(void *value);
	};
	template <class T> static int measure_as(const void *value)
	{
		return static_cast<const T *>(value)->size();
	}
	template <class T> static void destroy_as(void *value)
	{
		delete static_cast<T *>(value);
	}
	template <class T> static const Table table_for;

	void *value_;
	const Table *table_;
};

template <class T> const Box::Table Box::table_for = { measure_as<T>, destroy_as<T> };

struct Circle {
	Point *center;
	double radius;
	std::string name;
	int size() const
	{
		return static_cast<int>(radius);
	}
};

struct Label {
	std::string text;
	Point *place;
	long flags = 5;
	int size() const
	{
		return static_cast<int>(text.size());
	}
};

// --- a virtual model -------------------------------------------------------------

struct Concept {
	virtual ~Concept() = default;
	virtual int size() const = 0;
};

template <class T> struct Model : Concept {
	explicit Model(T &&from) : value(std::move(from))
	{
	}
	int size() const override
	{
		return value.size();
	}
	T value;
};

// --- all -------------------------------------------------------------------------

struct Document {
	long id;
	std::function<int(int)> score;
	std::function<int(int)> scale;
	std::any extra;
	std::any style;
	std::map<int, Point *> points;
};

struct World {
	std::vector<Document *> documents;
	std::vector<std::function<int()>> deferred;
	std::vector<Box *> boxes;
	std::vector<std::unique_ptr<Concept>> models;
};

static World *world;
static int total;

static void add_document(int number)
{
	auto *document = OF(Document, new Document);
	Point *point = new_point(number);
	std::string text = "a text that a closure has captured, " + std::to_string(number);
	Extra extra{ "a note that is longer than others " + std::to_string(number),
		     {},
		     new_point(number) };
	Style style{ new_point(number), "a font with a rather long name",
		     "a color with a long name", 12 };
	Scale scale{ {}, new_point(number), "a unit which is measured in meters" };

	document->id = number;
	document->score = [point, text, number](int more) {
		return static_cast<int>(point->x) + static_cast<int>(text.size()) + number + more;
	};
	document->scale = scale;
	document->extra = extra;
	document->style = style;
	document->points[number] = new_point(number);
	log_held(&document->score, 0, "(no name)");
	log_held(&document->scale, 0, "Scale");
	log_held(&document->extra, 8, "Extra");
	log_held(&document->style, 8, "Style");
	log_text(std::any_cast<Extra &>(document->extra).note);
	log_text(std::any_cast<Style &>(document->style).font);
	log_text(std::any_cast<Style &>(document->style).color);
	log_text(document->scale.target<Scale>()->unit);
	world->documents.push_back(document);
}

static void add_box(int number)
{
	std::string text = "a text in a box or model, number " + std::to_string(number);

	if (number % 3 > 0) {
		auto *circle = OF(Circle, new Circle);

		circle->center = new_point(number);
		circle->radius = number;
		circle->name = text;
		log_text(circle->name);
		world->boxes.push_back(OF(Box, new Box(circle)));
	} else {
		auto *label = OF(Label, new Label);

		label->place = new_point(number);
		label->text = text;
		log_text(label->text);
		world->boxes.push_back(OF(Box, new Box(label)));
	}
	Label in_model;

	in_model.text = text;
	in_model.place = new_point(number);
	auto *model = OF(Model<Label>, new Model<Label>(std::move(in_model)));

	log_text(model->value.text);
	world->models.emplace_back(model);
	std::shared_ptr<Point> shared = std::make_shared<Point>();
	world->deferred.emplace_back([shared, text] {
		return static_cast<int>(shared->z) + static_cast<int>(text.size());
	});
	log_held(&world->deferred.back(), 0, "(no name)");
}

int main(void)
{
	world = OF(World, new World);
	for (int i = 0; i < DOCUMENTS; i++)
		add_document(i);
	for (int i = 0; i < BOXES; i++)
		add_box(i);
	truth_capture();
	for (auto *document : world->documents)
		total += document->score(1) + document->scale(2);
	for (auto &function : world->deferred)
		total += function();
	for (auto *box : world->boxes)
		total += box->measure();
	for (auto &model : world->models)
		total += model->size();
	printf("%d\n", total);
	return 0;
}
