// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lua runs t/truth/workload.lua, whose capture() comes here: each object of the collector's
 * lists says in its header what it is; arrays belong to their objects.
 */
#include "t/truth/truth.h"

#include <stdio.h>

#include "lauxlib.h"
#include "lfunc.h"
#include "lgc.h"
#include "lobject.h"
#include "lstate.h"
#include "lstring.h"
#include "ltable.h"
#include "lua.h"
#include "lualib.h"

#if LUA_VERSION_RELEASE_NUM >= 50406
#define STACK_OF(thread) ((thread)->stack.p)
#else
#define STACK_OF(thread) ((thread)->stack)
#endif

struct particle { // the host's own, in userdata
	double position[3];
	double speed[3];
	int charge;
};

static void log_one(void *block, const char *type)
{
	truth_log(block, TRUTH_ARRAY, type, 1);
}

static void log_flexible(void *block, const char *type)
{
	truth_log(block, TRUTH_FLEXIBLE, type, 0);
}

static void log_array(void *block, const char *type, size_t count)
{
	if (block && count)
		truth_log(block, TRUTH_ARRAY, type, count);
}

static void log_table(const Table *table)
{
	log_one((void *)table, "Table");
	log_array(table->array, "TValue", luaH_realasize(table));
	if (table->lastfree) // else it is the dummy, which is not on the heap
		log_array(table->node, "Node", (size_t)sizenode(table));
}

static void log_prototype(const Proto *prototype)
{
	log_one((void *)prototype, "Proto");
	log_array(prototype->k, "TValue", (size_t)prototype->sizek);
	log_array(prototype->code, "Instruction", (size_t)prototype->sizecode);
	log_array(prototype->p, "Proto *", (size_t)prototype->sizep);
	log_array(prototype->upvalues, "Upvaldesc", (size_t)prototype->sizeupvalues);
	log_array(prototype->lineinfo, "ls_byte", (size_t)prototype->sizelineinfo);
	log_array(prototype->abslineinfo, "AbsLineInfo", (size_t)prototype->sizeabslineinfo);
	log_array(prototype->locvars, "LocVar", (size_t)prototype->sizelocvars);
}

static void log_stack(lua_State *thread)
{
	log_array(STACK_OF(thread), "StackValue", (size_t)stacksize(thread) + EXTRA_STACK);
	for (CallInfo *info = thread->base_ci.next; info; info = info->next)
		log_one(info, "CallInfo");
}

static void log_object(GCObject *object)
{
	switch (object->tt) {
	case LUA_VSHRSTR:
	case LUA_VLNGSTR:
		log_flexible(object, "TString");
		break;
	case LUA_VUSERDATA:
		log_flexible(object, gco2u(object)->nuvalue ? "Udata" : "Udata|Udata0");
		break;
	case LUA_VTABLE:
		log_table(gco2t(object));
		break;
	case LUA_VLCL:
		log_flexible(object, "LClosure");
		break;
	case LUA_VCCL:
		log_flexible(object, "CClosure");
		break;
	case LUA_VUPVAL:
		log_one(object, "UpVal");
		break;
	case LUA_VPROTO:
		log_prototype(gco2p(object));
		break;
	case LUA_VTHREAD: // its block has the user's extra space before it
		log_one((char *)object - LUA_EXTRASPACE, "LX");
		log_stack(gco2th(object));
		break;
	}
}

static void log_list(GCObject *first)
{
	for (GCObject *object = first; object; object = object->next)
		log_object(object);
}

static int capture(lua_State *L)
{
	global_State *state = G(L);

	log_stack(state->mainthread);
	log_array(state->strt.hash, "TString *", (size_t)state->strt.size);
	log_list(state->allgc);
	log_list(state->finobj);
	log_list(state->tobefnz);
	log_list(state->fixedgc);
	log_one((char *)state->mainthread - LUA_EXTRASPACE, "LG");
	truth_capture();
	return 0;
}

static int particle_new(lua_State *L)
{
	struct particle *particle =
		lua_newuserdatauv(L, sizeof(*particle), (int)lua_tointeger(L, 1));

	memset(particle, 0, sizeof(*particle));
	particle->charge = (int)lua_tointeger(L, 1);
	luaL_setmetatable(L, "particle");
	return 1;
}

static int particle_charge(lua_State *L)
{
	struct particle *particle = luaL_checkudata(L, 1, "particle");

	lua_pushinteger(L, particle->charge);
	return 1;
}

int main(void)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	luaL_newmetatable(L, "particle");
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, particle_charge);
	lua_setfield(L, -2, "charge");
	lua_register(L, "particle", particle_new);
	lua_register(L, "capture", capture);
	if (luaL_dofile(L, "t/truth/workload.lua")) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		return 1;
	}
	lua_close(L);
	return 0;
}
