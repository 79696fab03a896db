// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A drawing: classes with virtual functions, in a hierarchy, with two bases, abstract ones,
 * held by raw pointers, by unique_ptr and shared_ptr, in vectors and maps; a visitor; undo.
 */
#include "t/truth/truth.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NEW_OBJECT(T, ...) \
	(static_cast<T *>(truth_log(new T(__VA_ARGS__), TRUTH_ARRAY, "drawing::" #T, 1)))
#define NEW_OBJECTS(T, n) (static_cast<T *>(truth_log(new T[n], TRUTH_ARRAY, "drawing::" #T, n)))

namespace drawing
{

struct Point {
	double x, y;
};

class Shape;

class Observer
{
      public:
	virtual ~Observer() = default;
	virtual void changed(const Shape &shape) = 0;
};

class Named
{
      public:
	explicit Named(const std::string &name) : name_(name)
	{
	}
	virtual ~Named() = default;
	const std::string &name() const
	{
		return name_;
	}

      private:
	std::string name_;
};

struct Style { // nothing virtual
	unsigned colour;
	float width;
	Style *parent;
};

class Shape
{
      public:
	explicit Shape(Style *style) : style_(style)
	{
	}
	virtual ~Shape() = default;
	virtual double area() const = 0;
	void watch(Observer *observer)
	{
		observers_.push_back(observer);
	}
	void move(double x, double y)
	{
		origin_.x += x;
		origin_.y += y;
		for (Observer *observer : observers_)
			observer->changed(*this);
	}

      protected:
	Point origin_ = { 0, 0 };
	Style *style_;
	std::vector<Observer *> observers_;
};

class Circle : public Shape
{
      public:
	Circle(Style *style, double radius) : Shape(style), radius_(radius)
	{
	}
	double area() const override
	{
		return M_PI * radius_ * radius_;
	}

      private:
	double radius_;
};

class Polygon : public Shape
{
      public:
	Polygon(Style *style, unsigned count) : Shape(style), count_(count)
	{
		points_ = NEW_OBJECTS(Point, count);
		for (unsigned i = 0; i < count; i++)
			points_[i] = { cos(i), sin(i) };
	}
	~Polygon() override
	{
		truth_forget(points_);
		delete[] points_;
	}
	double area() const override
	{
		double sum = 0;
		for (unsigned i = 0; i < count_; i++)
			sum += points_[i].x * points_[(i + 1) % count_].y;
		return sum;
	}

      private:
	unsigned count_;
	Point *points_;
};

class Text : public Shape, public Named // the second base is in the middle
{
      public:
	Text(Style *style, const std::string &text) : Shape(style), Named(text), size_(12)
	{
	}
	double area() const override
	{
		return size_ * size_ * static_cast<double>(name().size());
	}

      private:
	float size_;
};

class Group : public Named, public Shape, public Observer
{
      public:
	Group(Style *style, const std::string &name) : Named(name), Shape(style)
	{
	}
	~Group() override
	{
		for (Shape *shape : shapes_) {
			truth_forget(dynamic_cast<void *>(shape));
			delete shape;
		}
	}
	void add(Shape *shape)
	{
		shape->watch(this);
		shapes_.push_back(shape);
	}
	double area() const override
	{
		double sum = 0;
		for (const Shape *shape : shapes_)
			sum += shape->area();
		return sum;
	}
	void changed(const Shape &) override
	{
		changes_++;
	}

      private:
	std::vector<Shape *> shapes_;
	unsigned changes_ = 0;
};

class Command
{
      public:
	virtual ~Command() = default;
	virtual void apply() = 0;
	virtual void revert() = 0;
};

class Move final : public Command
{
      public:
	Move(Shape *shape, double x) : shape_(shape), x_(x)
	{
	}
	void apply() override
	{
		shape_->move(x_, 0);
	}
	void revert() override
	{
		shape_->move(-x_, 0);
	}

      private:
	Shape *shape_;
	double x_;
};

class Batch final : public Command
{
      public:
	void add(Command *command)
	{
		commands_.emplace_back(command);
	}
	void apply() override
	{
		for (auto &command : commands_)
			command->apply();
	}
	void revert() override
	{
		for (auto &command : commands_)
			command->revert();
	}

      private:
	std::vector<std::unique_ptr<Command>> commands_;
};

struct Snapshot { // no virtual functions, in shared_ptrs
	unsigned revision;
	std::map<std::string, double> areas;
};

class Document : public Observer
{
      public:
	Document()
	{
		Style *parent = nullptr;
		for (unsigned i = 0; i < 20; i++) {
			parent = new_style(parent, i);
			styles_.push_back(parent);
		}
	}
	void fill(unsigned count)
	{
		Group *group = nullptr;
		for (unsigned i = 0; i < count; i++) {
			if (i % 10 == 0) {
				group = NEW_OBJECT(Group, styles_[i % 20],
						   "group number " + std::to_string(i));
				groups_[group->name()].reset(group);
			}
			Shape *shape = new_shape(i);
			shape->watch(this);
			group->add(shape);
			history_.push_back(new_command(shape, i));
		}
	}
	void take_snapshot()
	{
		auto snapshot = std::shared_ptr<Snapshot>(NEW_OBJECT(Snapshot, ));
		snapshot->revision = changes_;
		for (const auto &group : groups_)
			snapshot->areas[group.first] = group.second->area();
		snapshots_.push_back(snapshot);
	}
	void apply()
	{
		for (Command *command : history_)
			command->apply();
	}
	void changed(const Shape &) override
	{
		changes_++;
	}
	unsigned changes() const
	{
		return changes_;
	}

      private:
	static Style *new_style(Style *parent, unsigned number)
	{
		Style *style = NEW_OBJECT(Style, );
		style->colour = number * 0x102030;
		style->width = 1;
		style->parent = parent;
		return style;
	}
	Shape *new_shape(unsigned i)
	{
		switch (i % 4) {
		case 0:
			return NEW_OBJECT(Circle, styles_[i % 20], i);
		case 1:
		case 2:
			return NEW_OBJECT(Polygon, styles_[i % 20], 3 + i % 6);
		default:
			return NEW_OBJECT(Text, styles_[i % 20], "text " + std::to_string(i * 7));
		}
	}
	static Command *new_command(Shape *shape, unsigned i)
	{
		if (i % 5)
			return NEW_OBJECT(Move, shape, i);
		Batch *batch = NEW_OBJECT(Batch, );
		for (unsigned j = 0; j < i % 4; j++)
			batch->add(NEW_OBJECT(Move, shape, j));
		return batch;
	}

	std::map<std::string, std::unique_ptr<Group>> groups_;
	std::vector<Style *> styles_;
	std::vector<Command *> history_;
	std::vector<std::shared_ptr<Snapshot>> snapshots_;
	unsigned changes_ = 0;
};

} // namespace drawing

int main()
{
	auto *document = static_cast<drawing::Document *>(
		truth_log(new drawing::Document, TRUTH_ARRAY, "drawing::Document", 1));

	document->fill(1500);
	document->apply();
	for (int i = 0; i < 5; i++)
		document->take_snapshot();
	truth_capture();
	printf("%u changes\n", document->changes());
	return 0;
}
