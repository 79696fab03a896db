// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values of any type behind a header that counts references, in one block: the variable that gets the block points to
 * the header, as whose array the block's size would do as well. Values have pointers where the header has two numbers,
 * or are numbers or texts alone.
 */
#include "t/truth/library.h"

#include <cstdio>
#include <new>
#include <vector>

enum {
	FORMS = 60,
	PARCELS = 8,
};

struct Header {
	int references;
	int offset;
};

struct MetaType {
	void (*destroy)(void *value);
	size_t size;
};

// A value that fits lies in the variant itself.
struct Variant {
	union {
		Header *shared;
		char bytes[24];
		double real;
		long integer;
	};
	const MetaType *type;
	bool is_shared;
};

struct Owner {
	std::string name;
	long number;
};

struct Margins {
	double left, top, right, bottom;
	Owner *owner;
	std::string unit;
};

struct Route {
	Owner *from, *to;
	long hops;
};

struct Curve {
	double points[7];
};

struct Form {
	std::vector<Variant> values;
	std::vector<Header *> notes;
	Owner owner;
};

template <class T> static void destroy_as(void *value)
{
	static_cast<T *>(value)->~T();
}

template <class T> static const MetaType meta_type = { destroy_as<T>, sizeof(T) };

template <class T> static Variant variant_of(const T &value)
{
	Variant result{};
	Header *header = static_cast<Header *>(malloc(sizeof(Header) + sizeof(T)));

	POOL(Header, header);
	header->references = 1;
	header->offset = sizeof(Header);
	new (header + 1) T(value);
	result.shared = header;
	result.type = &meta_type<T>;
	result.is_shared = true;
	return result;
}

static Variant real_of(double real)
{
	Variant result{};

	result.real = real;
	result.type = &meta_type<double>;
	return result;
}

static Header *note_of(const std::string &text)
{
	Header *header = static_cast<Header *>(malloc(sizeof(Header) + text.size() + 1));

	POOL(Header, header);
	header->references = 1;
	header->offset = static_cast<int>(text.size());
	memcpy(header + 1, text.c_str(), text.size() + 1);
	return header;
}

static std::vector<Form *> forms;

static void add_form(int number)
{
	auto *form = forms[number];

	form->owner.name = "the owner of a form, " + std::to_string(number);
	log_text(form->owner.name);
	for (int i = 0; i < PARCELS; i++) {
		Curve curve{};

		for (int j = 0; j < 7; j++)
			curve.points[j] = number + i * 0.5 + j;
		form->values.push_back(real_of(number * 0.5));
		form->values.push_back(variant_of(curve));
		form->values.push_back(variant_of(
			Margins{ 1, 2.5, 3, i * 0.5, &form->owner, "a unit that is millimetres" }));
		form->values.push_back(
			variant_of(Route{ &form->owner, &forms[number / 2]->owner, i }));
		form->notes.push_back(note_of(
			"a note with " + std::string(static_cast<size_t>(i * 7 + number % 5), '.') +
			" dots"));
	}
}

int main()
{
	double total = 0;

	for (int i = 0; i < FORMS; i++) {
		forms.push_back(nullptr);
		forms[i] = OF(Form, new Form);
	}
	for (int i = 0; i < FORMS; i++)
		add_form(i);
	truth_capture();
	for (auto *form : forms)
		total += static_cast<double>(form->values.size());
	printf("%g\n", total);
	return 0;
}
