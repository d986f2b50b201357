// Every function of the npm package mg-dbx-napi that needs no M routines, over Caret.
import { server, mglobal, mcursor } from 'mg-dbx-napi';

let passed = 0, failed = 0;

function check(what, got, want = true) {
    if (JSON.stringify(got) === JSON.stringify(want)) {
        passed++;
    } else {
        failed++;
        console.log('FAILED:', what, JSON.stringify(got), 'not', JSON.stringify(want));
    }
}

const db = new server();
db.open({ type: 'YottaDB', path: process.env.ydb_dist, env_vars: { ydb_gbldir: process.env.CARET_DB } });
check('version', /^1\./.test(db.version()));

// by a global object, and by name
const person = new mglobal(db, 'Person');
check('set', person.set(1, 'John'), '0');
check('get', person.get(1), 'John');
check('db.set', db.set('Person', 2, 'x', 'Jane'), '0');
check('db.get', db.get('Person', 2, 'x'), 'Jane');
check('get of nothing', person.get(3), '');
check('defined', [person.defined(1), person.defined(2), db.defined('Person', 3)], ['1', '10', '0']);
check('increment', [person.increment('n', 1.5), db.increment('Person', 'n', 2)], ['1.5', '3.5']);
check('next', [person.next(''), person.next(1), person.next('n'), db.next('Person', '')], ['1', '2', '', '1']);
check('previous', [person.previous(''), person.previous(1), db.previous('Person', '')], ['n', '', 'n']);
check('lock', [person.lock(1, 3), person.unlock(1), db.lock('Person', 1, 3), db.unlock('Person', 1)].map(Number), [1, 1, 1, 1]);
const long = 'v'.repeat(100000);
check('long value', (person.set('long', long), person.get('long') === long));
check('punctuation', (person.set('u', 'a"b\n'), person.get('u')), 'a"b\n');
const deep = Array(15).fill('k');
check('many subscripts', (person.set(...deep, 'deep'), person.get(...deep)), 'deep');
check('delete', (person.delete('long'), person.delete('k'), person.defined('long')), '0');

const part = new mglobal(db, 'Person', 2);
check('part', part.get('x'), 'Jane');
check('reset', (part.reset('Person', 1), part.get()), 'John');

// lists of children
const list = new mglobal(db, 'List');
list.setchildnodes([{ key: 1, data: 'a' }, { key: 2, data: 'b' }, { key: 'z', data: 'c' }], {});
check('setchildnodes', [list.get(1), list.get(2), list.get('z')], ['a', 'b', 'c']);
check('getchildnodes', list.getchildnodes({ getdata: true }).map((n) => n.data), ['a', 'b', 'c']);

// cursors
const walk = (query) => {
    const seen = [];
    for (let r; (r = query.next()) !== null;) seen.push(r);
    return seen;
};
check('cursor', walk(new mcursor(db, { global: 'List', key: [''] })), ['1', '2', 'z']);
check('cursor with data', walk(new mcursor(db, { global: 'List', key: [''] }, { getdata: true })).map((r) => r.data), ['a', 'b', 'c']);
check('cursor of all', walk(new mcursor(db, { global: 'Person', key: [''] }, { multilevel: true, getdata: true })).length, 4);
check('cursor of globals', walk(new mcursor(db, { global: '' }, { globaldirectory: true })).length, 2);
const back = new mcursor(db, { global: 'List', key: [''] });
check('cursor backwards', [back.previous(), back.previous(), back.previous(), back.previous()], ['z', '2', '1', null]);

// asynchronous calls, on the threads of Node.js
const later = (f, ...args) => new Promise((done) => f(...args, (error, result) => done(error ? 'error' : result)));
await Promise.all(Array.from({ length: 40 }, (_, i) => later(person.set.bind(person), 'async', i, 'v' + i)));
check('asynchronous', (await later(person.get.bind(person), 'async', 39)), 'v39');
const sums = await Promise.all(Array.from({ length: 40 }, () => later(person.increment.bind(person), 'sum', 1)));
check('asynchronous increments', [new Set(sums).size, person.get('sum')], [40, '40']);

db.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
