// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The compiler and the machine of a database that is linked in: expressions with unions told by flags, lists that end in arrays,
 * indexes that keep their arrays behind them in the same block, and instructions whose fourth operand is of the type that a number says.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	TK_COLUMN = 1,
	TK_STRING,
	TK_INTEGER,
	TK_AND,
	TK_EQ,
	TK_FUNCTION,
	TK_SELECT,
	TK_IN
};
enum {
	EP_xIsSelect = 0x1000,
	EP_IntValue = 0x800,
	EP_TokenOnly = 0x10000,
	EP_Reduced = 0x4000
};
enum {
	P4_NOTUSED = 0,
	P4_TRANSIENT = 0,
	P4_STATIC = -1,
	P4_COLLSEQ = -2,
	P4_INT32 = -3,
	P4_KEYINFO = -8,
	P4_MEM = -10,
	P4_REAL = -12,
	P4_INT64 = -13,
	P4_FUNCDEF = -7,
	P4_DYNAMIC = -6
};
enum {
	MEM_Null = 1,
	MEM_Str = 2,
	MEM_Int = 4,
	MEM_Real = 8,
	MEM_Blob = 16,
	MEM_Dyn = 0x1000
};

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int64_t i64;

struct Db {
	int nDb, mallocFailed;
	struct Schema *aSchema[2];
	struct Vdbe *pVdbe;
	void *(*xAlloc)(int);
	struct Lookaside *pFree;
};

struct HashElem {
	struct HashElem *next, *prev;
	void *data;
	const char *pKey;
};

struct Hash {
	unsigned htsize, count;
	struct HashElem *first;
	struct _ht {
		unsigned count;
		struct HashElem *chain;
	} * ht;
};

struct Schema {
	int cookie;
	struct Hash tblHash, idxHash, trigHash, fkeyHash;
	struct Table *pSeqTab;
	u8 enc;
};

struct Column {
	char *zCnName;
	unsigned notNull : 4, eCType : 4;
	char affinity;
	u8 szEst, hName;
	u16 iDflt, colFlags;
};

struct Table {
	char *zName;
	struct Column *aCol;
	struct Index *pIndex;
	char *zColAff;
	struct ExprList *pCheck;
	u32 tnum, nTabRef;
	short iPKey, nCol;
	union {
		struct {
			int addColOffset;
			struct FKey *pFKey;
			struct ExprList *pDfltList;
		} tab;
		struct {
			struct Select *pSelect;
		} view;
	} u;
	struct Schema *pSchema;
	u8 eTabType;
};

struct Index {
	char *zName;
	short *aiColumn;
	short *aiRowLogEst;
	struct Table *pTable;
	char *zColAff;
	struct Index *pNext;
	struct Schema *pSchema;
	u8 *aSortOrder;
	const char **azColl;
	struct Expr *pPartIdxWhere;
	u32 tnum;
	u16 nKeyCol, nColumn;
};

struct FKey {
	struct Table *pFrom;
	struct FKey *pNextFrom;
	char *zTo;
	struct FKey *pNextTo, *pPrevTo;
	int nCol;
	u8 aAction[2];
	struct sColMap {
		int iFrom;
		char *zCol;
	} aCol[];
};

struct Expr {
	u8 op;
	char affExpr;
	u8 op2;
	u32 flags;
	union {
		char *zToken;
		int iValue;
	} u;
	struct Expr *pLeft, *pRight;
	union {
		struct ExprList *pList;
		struct Select *pSelect;
	} x;
	int nHeight, iTable;
	short iColumn, iAgg;
	union {
		struct Table *pTab;
		struct Window *pWin;
	} y;
};

struct ExprList {
	int nExpr, nAlloc;
	struct ExprList_item {
		struct Expr *pExpr;
		char *zEName;
		u32 fg;
		u16 iOrderByCol, iAlias;
	} a[];
};

struct SrcItem {
	char *zName, *zAlias;
	struct Table *pTab;
	struct Select *pSelect;
	u8 jointype;
	int iCursor;
	struct Expr *pOn;
	u32 colUsed;
};

struct SrcList {
	int nSrc;
	u32 nAlloc;
	struct SrcItem a[];
};

struct Select {
	u8 op;
	short nSelectRow;
	u32 selFlags;
	int iLimit, iOffset;
	struct ExprList *pEList;
	struct SrcList *pSrc;
	struct Expr *pWhere;
	struct ExprList *pGroupBy, *pOrderBy;
	struct Select *pPrior, *pNext;
	struct Expr *pLimit;
};

struct CollSeq {
	char *zName;
	u8 enc;
	void *pUser;
	int (*xCmp)(void *, int, const void *, int, const void *);
	void (*xDel)(void *);
};

struct KeyInfo {
	u32 nRef;
	u8 enc;
	u16 nKeyField, nAllField;
	struct Db *db;
	u8 *aSortFlags;
	struct CollSeq *aColl[];
};

struct Mem {
	union {
		double r;
		i64 i;
		int nZero;
	} u;
	char *z;
	int n;
	u16 flags;
	u8 enc;
	struct Db *db;
	int szMalloc;
	char *zMalloc;
	void (*xDel)(void *);
};

struct FuncDef {
	signed char nArg;
	u32 funcFlags;
	void *pUserData;
	struct FuncDef *pNext;
	void (*xSFunc)(void *);
	const char *zName;
};

struct Op {
	u8 opcode;
	signed char p4type;
	u16 p5;
	int p1, p2, p3;
	union {
		int i;
		void *p;
		char *z;
		i64 *pI64;
		double *pReal;
		struct FuncDef *pFunc;
		struct CollSeq *pColl;
		struct Mem *pMem;
		struct KeyInfo *pKeyInfo;
	} p4;
};

struct BtCursor {
	u8 eState, curFlags;
	struct KeyInfo *pKeyInfo;
	void *pKey;
	i64 nKey;
	u16 aiIdx[4];
};

struct VdbeCursor {
	u8 eCurType;
	signed char iDb;
	union {
		struct BtCursor *pCursor;
		struct VTabCursor *pVCur;
		struct Sorter *pSorter;
	} uc;
	struct KeyInfo *pKeyInfo;
	u32 *aOffset;
	u16 nField;
	u32 aType[];
};

struct VTabCursor {
	void *pVtab;
	int eof;
};

struct Sorter {
	int nTask, mxKeysize;
	struct SorterRecord *pRecords;
	struct KeyInfo *pKeyInfo;
};

struct SorterRecord {
	int nVal;
	union {
		struct SorterRecord *pNext;
		int iNext;
	} u;
};

struct Vdbe {
	struct Db *db;
	struct Vdbe **ppPrev, *pNext;
	int nOp, nOpAlloc, nMem, nCursor;
	struct Op *aOp;
	struct Mem *aMem;
	struct VdbeCursor **apCsr;
	struct Mem *aColName;
	u16 nResColumn;
	char *zSql;
	void *pAux;
};

static struct Db *db;
static struct CollSeq collations[2] = { { "BINARY" }, { "NOCASE" } };
static struct FuncDef functions[3] = { { 1, 0, NULL, NULL, NULL, "max" },
				       { 2, 0, NULL, NULL, NULL, "substr" } };

static void *sqlite_malloc_raw(struct Db *it, uint64_t n)
{
	void *p = malloc(n);

	if (!p)
		it->mallocFailed = 1;
	return p;
}

static void *sqlite_malloc_zero(struct Db *it, uint64_t n)
{
	void *p = sqlite_malloc_raw(it, n);

	if (p)
		memset(p, 0, n);
	return p;
}

static char *dup(const char *z)
{
	size_t n = strlen(z) + 1;
	char *p = truth_log(sqlite_malloc_raw(db, n), TRUTH_TEXT, "char", n);

	return memcpy(p, z, n);
}

static char *name(const char *prefix, unsigned i)
{
	char z[40];

	snprintf(z, sizeof(z), "%s%u", prefix, i);
	return dup(z);
}

static void hash_insert(struct Hash *hash, const char *key, void *data)
{
	struct HashElem *elem = OF(struct HashElem, sqlite_malloc_raw(db, sizeof(*elem)));
	struct _ht *slot;

	if (!hash->ht) {
		hash->htsize = 16;
		hash->ht =
			ARRAY_OF(struct _ht, 16, sqlite_malloc_zero(db, 16 * sizeof(struct _ht)));
	}
	slot = &hash->ht[(unsigned char)key[strlen(key) - 1] % hash->htsize];
	*elem = (struct HashElem){ hash->first, NULL, data, key };
	if (hash->first)
		hash->first->prev = elem;
	hash->first = elem;
	slot->count++;
	slot->chain = elem;
	hash->count++;
}

// The token lies behind the expression; those without children are cut off.
static struct Expr *expr_alloc(int op, const char *token, struct Expr *left, struct Expr *right)
{
	size_t n = token ? strlen(token) + 1 : 0, size = sizeof(struct Expr);
	struct Expr *p = POOL(struct Expr, sqlite_malloc_raw(db, size + n));

	memset(p, 0, sizeof(*p));
	p->op = (u8)op;
	p->iAgg = -1;
	p->pLeft = left;
	p->pRight = right;
	if (token) {
		p->u.zToken = (char *)&p[1];
		memcpy(p->u.zToken, token, n);
	} else if (op == TK_INTEGER) {
		p->flags |= EP_IntValue;
		p->u.iValue = (int)(next() % 1000);
	} else {
		truth_forget(p);
		OF(struct Expr, p);
	}
	if (op == TK_INTEGER && !token) {
		truth_forget(p);
		OF(struct Expr, p);
	}
	return p;
}

static struct ExprList *list_append(struct ExprList *list, struct Expr *expr)
{
	if (!list) {
		list = FLEXIBLE_OF(struct ExprList,
				   sqlite_malloc_raw(db, sizeof(*list) + 4 * sizeof(list->a[0])));
		list->nExpr = 0;
		list->nAlloc = 4;
	} else if (list->nExpr == list->nAlloc) {
		list->nAlloc *= 2;
		list = RENEW_FLEXIBLE(struct ExprList, list,
				      sizeof(*list) + (size_t)list->nAlloc * sizeof(list->a[0]));
	}
	list->a[list->nExpr] = (struct ExprList_item){ expr, NULL, 0, 0, 0 };
	if (next() % 3 == 0)
		list->a[list->nExpr].zEName = name("alias", (unsigned)next() % 100);
	list->nExpr++;
	return list;
}

static struct Table *tables[24];
static unsigned table_count;

static struct Expr *random_expr(int depth);

static struct Select *select_new(int depth)
{
	struct Select *p = OF(struct Select, sqlite_malloc_raw(db, sizeof(*p)));
	size_t n = 1 + next() % 3;

	memset(p, 0, sizeof(*p));
	p->op = TK_SELECT;
	p->pSrc = FLEXIBLE_OF(
		struct SrcList,
		sqlite_malloc_zero(db, sizeof(struct SrcList) + n * sizeof(struct SrcItem)));
	p->pSrc->nSrc = (int)n;
	p->pSrc->nAlloc = (u32)n;
	for (size_t i = 0; i < n; i++) {
		struct Table *table = tables[next() % table_count];

		p->pSrc->a[i].pTab = table;
		p->pSrc->a[i].zName = dup(table->zName);
		p->pSrc->a[i].iCursor = (int)i;
		if (i == 1)
			p->pSrc->a[i].pOn = random_expr(1);
	}
	for (unsigned i = 0; i < 1 + next() % 6; i++)
		p->pEList = list_append(p->pEList, random_expr(depth - 1));
	p->pWhere = random_expr(depth);
	if (next() % 2)
		p->pOrderBy = list_append(NULL, random_expr(0));
	return p;
}

static struct Expr *random_expr(int depth)
{
	struct Expr *p;

	if (depth <= 0) {
		switch (next() % 3) {
		case 0:
			return expr_alloc(TK_INTEGER, NULL, NULL, NULL);
		case 1:
			return expr_alloc(TK_STRING, "the quick brown fox", NULL, NULL);
		default:
			p = expr_alloc(TK_COLUMN, "price", NULL, NULL);
			p->y.pTab = tables[next() % table_count];
			return p;
		}
	}
	switch (next() % 5) {
	case 0:
		p = expr_alloc(TK_FUNCTION, "substr", NULL, NULL);
		p->x.pList = list_append(list_append(NULL, random_expr(depth - 1)), random_expr(0));
		return p;
	case 1:
		p = expr_alloc(TK_IN, NULL, random_expr(0), NULL);
		if (next() % 2) {
			p->flags |= EP_xIsSelect;
			p->x.pSelect = select_new(depth - 2);
		} else {
			p->x.pList = list_append(NULL, random_expr(0));
		}
		return p;
	default:
		return expr_alloc(next() % 2 ? TK_AND : TK_EQ, NULL, random_expr(depth - 1),
				  random_expr(depth - 1));
	}
}

static void add_index(struct Table *table, unsigned i)
{
	u16 n = (u16)(2 + next() % 3);
	size_t head = (sizeof(struct Index) + 7) & ~7ul;
	struct Index *p =
		POOL(struct Index, sqlite_malloc_zero(db, head + n * (sizeof(char *) + 2 + 2 + 1)));
	char *extra = (char *)p + head;

	p->azColl = (const char **)extra;
	extra += n * sizeof(char *);
	p->aiRowLogEst = (short *)extra;
	extra += n * 2;
	p->aiColumn = (short *)extra;
	extra += n * 2;
	p->aSortOrder = (u8 *)extra;
	p->nColumn = p->nKeyCol = n;
	for (u16 j = 0; j < n; j++) {
		p->azColl[j] = collations[j % 2].zName;
		p->aiColumn[j] = (short)j;
	}
	p->zName = name("idx_", i);
	p->pTable = table;
	p->pNext = table->pIndex;
	p->pSchema = table->pSchema;
	table->pIndex = p;
	hash_insert(&table->pSchema->idxHash, p->zName, p);
}

static void add_table(struct Schema *schema, unsigned i)
{
	struct Table *table = OF(struct Table, sqlite_malloc_zero(db, sizeof(*table)));

	table->zName = name("table_", i);
	table->pSchema = schema;
	table->nCol = (short)(3 + next() % 6);
	table->aCol = ARRAY_OF(struct Column, (size_t)table->nCol,
			       sqlite_malloc_zero(db, (size_t)table->nCol * sizeof(struct Column)));
	for (short j = 0; j < table->nCol; j++) {
		table->aCol[j].zCnName = name("column_", (unsigned)j);
		table->aCol[j].affinity = 'B';
	}
	tables[table_count++] = table;
	add_index(table, i);
	add_index(table, i + 100);
	if (i % 4 == 3) {
		table->eTabType = 2;
		table->u.view.pSelect = select_new(1);
	} else if (i % 2) {
		struct FKey *key = FLEXIBLE_OF(
			struct FKey,
			sqlite_malloc_zero(db, sizeof(struct FKey) + 2 * sizeof(struct sColMap)));

		key->pFrom = table;
		key->nCol = 2;
		key->zTo = dup(tables[0]->zName);
		key->aCol[0].zCol = dup("id");
		table->u.tab.pFKey = key;
		hash_insert(&schema->fkeyHash, key->zTo, key);
	}
	hash_insert(&schema->tblHash, table->zName, table);
}

static struct KeyInfo *key_info(unsigned n)
{
	struct KeyInfo *p =
		FLEXIBLE_OF(struct KeyInfo,
			    sqlite_malloc_raw(db, sizeof(*p) + n * (sizeof(struct CollSeq *) + 1)));

	memset(p, 0, sizeof(*p) + n * (sizeof(struct CollSeq *) + 1));
	p->nRef = 1;
	p->db = db;
	p->nKeyField = p->nAllField = (u16)n;
	p->aSortFlags = (u8 *)&p->aColl[n];
	for (unsigned i = 0; i < n; i++)
		p->aColl[i] = &collations[i % 2];
	return p;
}

static void add_op(struct Vdbe *v, int opcode, int p4type)
{
	struct Op *op;

	if (v->nOp == v->nOpAlloc) {
		v->nOpAlloc = v->nOpAlloc ? v->nOpAlloc * 2 : 16;
		v->aOp = RENEW_ARRAY(struct Op, v->aOp, (size_t)v->nOpAlloc);
	}
	op = &v->aOp[v->nOp++];
	*op = (struct Op){ .opcode = (u8)opcode,
			   .p4type = (signed char)p4type,
			   .p1 = (int)(next() % 10) };
	switch (p4type) {
	case P4_INT64:
		op->p4.pI64 = OF(i64, sqlite_malloc_raw(db, sizeof(i64)));
		*op->p4.pI64 = (i64)next();
		break;
	case P4_REAL:
		op->p4.pReal = OF(double, sqlite_malloc_raw(db, sizeof(double)));
		*op->p4.pReal = (double)(next() % 1000003) / 997;
		break;
	case P4_DYNAMIC:
		op->p4.z = dup("literal of a statement");
		break;
	case P4_KEYINFO:
		op->p4.pKeyInfo = key_info(1 + next() % 3);
		break;
	case P4_COLLSEQ:
		op->p4.pColl = &collations[0];
		break;
	case P4_FUNCDEF:
		op->p4.pFunc = &functions[next() % 2];
		break;
	case P4_INT32:
		op->p4.i = (int)next();
		break;
	case P4_MEM: {
		struct Mem *mem = OF(struct Mem, sqlite_malloc_zero(db, sizeof(struct Mem)));

		mem->flags = MEM_Int;
		mem->u.i = (i64)next();
		mem->db = db;
		op->p4.pMem = mem;
		break;
	}
	default:
		break;
	}
}

static void add_statement(unsigned i)
{
	static const int kinds[] = { P4_NOTUSED, P4_INT64,   P4_REAL,  P4_DYNAMIC, P4_KEYINFO,
				     P4_COLLSEQ, P4_FUNCDEF, P4_INT32, P4_MEM };
	struct Vdbe *v = OF(struct Vdbe, sqlite_malloc_zero(db, sizeof(*v)));

	v->db = db;
	v->pNext = db->pVdbe;
	if (db->pVdbe)
		db->pVdbe->ppPrev = &v->pNext;
	db->pVdbe = v;
	v->ppPrev = &db->pVdbe;
	v->zSql = name("SELECT * FROM table_", i);
	for (int j = 0; j < 25; j++)
		add_op(v, j, kinds[next() % 9]);
	v->nMem = 12;
	v->aMem = ARRAY_OF(struct Mem, 12, sqlite_malloc_zero(db, 12 * sizeof(struct Mem)));
	for (int j = 0; j < 12; j++) {
		v->aMem[j].db = db;
		v->aMem[j].flags = MEM_Null;
		if (j % 3 == 0) {
			v->aMem[j].flags = MEM_Str | MEM_Dyn;
			v->aMem[j].z = v->aMem[j].zMalloc = name("row ", (unsigned)j);
			v->aMem[j].n = 6;
			v->aMem[j].szMalloc = 16;
		}
	}
	v->nCursor = 3;
	v->apCsr = ARRAY_OF(struct VdbeCursor *, 3, sqlite_malloc_zero(db, 3 * sizeof(void *)));
	for (int j = 0; j < 3; j++) {
		u16 fields = (u16)(4 + j);
		struct VdbeCursor *c =
			FLEXIBLE_OF(struct VdbeCursor,
				    sqlite_malloc_zero(db, sizeof(*c) + 2 * fields * sizeof(u32)));

		c->nField = fields;
		c->aOffset = &c->aType[fields];
		c->eCurType = (u8)j;
		if (j == 0) {
			c->uc.pCursor = OF(struct BtCursor,
					   sqlite_malloc_zero(db, sizeof(struct BtCursor)));
			c->uc.pCursor->nKey = 7;
			c->uc.pCursor->pKeyInfo = c->pKeyInfo = key_info(2);
		} else if (j == 1) {
			c->uc.pVCur = OF(struct VTabCursor,
					 sqlite_malloc_zero(db, sizeof(struct VTabCursor)));
			c->uc.pVCur->eof = 1;
		} else {
			c->uc.pSorter =
				OF(struct Sorter, sqlite_malloc_zero(db, sizeof(struct Sorter)));
			c->uc.pSorter->pKeyInfo = key_info(1);
			c->uc.pSorter->mxKeysize = 40;
		}
		v->apCsr[j] = c;
	}
}

static struct Select *views[40];

int main(void)
{
	db = NEW_ZEROED(struct Db);
	db->nDb = 1;
	db->aSchema[0] = OF(struct Schema, sqlite_malloc_zero(db, sizeof(struct Schema)));
	for (unsigned i = 0; i < 24; i++)
		add_table(db->aSchema[0], i);
	for (unsigned i = 0; i < 40; i++)
		views[i] = select_new(3);
	for (unsigned i = 0; i < 40; i++)
		add_statement(i);
	truth_capture();
	return views[next() % 40]->op != TK_SELECT;
}
