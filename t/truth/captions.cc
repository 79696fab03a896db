// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Widgets and the items of a model, whose lists share their values until one of them is written to. A list has a pointer to
 * the header of its block, which counts the lists, and one to the first value behind it.
 */
#include "t/truth/library.h"

#include <new>

namespace captions
{

enum {
	PANELS = 30,
	BUTTONS = 4,
	MARGINS = 4,
	CELLS = 3,
	CHILDREN = 3,
	DEPTH = 4,
};

struct Header {
	int lists, flags;
	long room;
};

template <class T> class List
{
      public:
	List() = default;
	List(const List &other) : header_(other.header_), values_(other.values_), size_(other.size_)
	{
		if (header_)
			header_->lists++;
	}
	List &operator=(const List &) = delete;
	void append(const T &value, const char *type)
	{
		if (!header_ || size_ == header_->room || header_->lists > 1)
			grow(type);
		new (values_ + size_++) T(value);
	}

      private:
	void grow(const char *type)
	{
		long room = header_ ? header_->room * 2 : 4;
		auto *header =
			static_cast<Header *>(truth_log(malloc(sizeof(Header) + room * sizeof(T)),
							TRUTH_BEHIND, type, sizeof(Header)));
		auto *values = reinterpret_cast<T *>(header + 1);

		*header = Header{ 1, 0, room };
		for (long i = 0; i < size_; i++)
			new (values + i) T(values_[i]);
		if (header_ && --header_->lists == 0)
			FREE(header_);
		header_ = header;
		values_ = values;
	}

	Header *header_ = nullptr;
	T *values_ = nullptr;
	long size_ = 0;
};

using String = List<char16_t>;

struct Widget {
	explicit Widget(const String &from) : caption(from)
	{
	}
	virtual ~Widget() = default;

	Widget *parent = nullptr;
	List<Widget *> children;
	List<int> margins;
	String caption;
	long id = 0;
};

struct Button : Widget {
	using Widget::Widget;
	bool is_down = false;
};

struct Variant {
	union {
		double real;
		long number;
		String *text;
	} of;
	unsigned type;
};

struct Item {
	Item *parent;
	List<Item *> children;
	List<Variant> cells;
};

static Widget *window;
static Item *root;

static String make_string(const char *text)
{
	String result;

	for (; *text; text++)
		result.append(static_cast<char16_t>(*text), "char16_t");
	return result;
}

static void add(Widget *parent, Widget *widget)
{
	widget->parent = parent;
	for (int i = 0; i < MARGINS; i++)
		widget->margins.append(i, "int");
	parent->children.append(widget, "captions::Widget *");
}

static void add_panel(int number, const String &caption)
{
	Widget *panel = OF(captions::Widget, new Widget(make_string("panel")));

	panel->id = number;
	add(window, panel);
	for (int i = 0; i < BUTTONS; i++) {
		Button *button = OF(captions::Button, new Button(caption));

		if (i == 0)
			button->caption.append(u'!', "char16_t");
		add(panel, button);
	}
}

static Item *make_item(Item *parent, int depth)
{
	Item *item = OF(captions::Item, new Item());

	item->parent = parent;
	for (int i = 0; i < CELLS; i++) {
		Variant cell{};

		cell.type = i;
		if (i == 0)
			cell.of.real = 1.5;
		else
			cell.of.number = depth;
		item->cells.append(cell, "captions::Variant");
	}
	for (int i = 0; depth > 0 && i < CHILDREN; i++)
		item->children.append(make_item(item, depth - 1), "captions::Item *");
	return item;
}

} // namespace captions

int main()
{
	using namespace captions;
	String caption = make_string("a caption that is shared");

	window = OF(captions::Widget, new Widget(make_string("window")));
	for (int i = 0; i < PANELS; i++)
		add_panel(i, caption);
	root = make_item(nullptr, DEPTH);
	truth_capture();
	return root->parent != nullptr || window->parent != nullptr;
}
