import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { onBug } from '../../../src/kit/guarded-listeners.ts';
import { explainRoute } from '../../../src/proxy/edge/explain/explain-route.ts';
import type { HypotheticalQuestion, HypotheticalRequest } from '../../../src/proxy/edge/explain/explanation.ts';
import { JudgedExchange } from './judged-exchange.ts';
import {
  ALL_PASS,
  combinations,
  GUEST_PATH,
  LOGIN_PATH,
  MODULES,
  type Script,
  ScriptedRoute,
  type Scripts,
} from './scripted-route.ts';

const TABLE = new URL('admission-table.txt', import.meta.url);
const unscripted: unknown[] = [];
after(
  onBug(({ error }) => {
    if (!String(error).includes('has a bug')) unscripted.push(error);
  }),
);

/** Everything that was made late has been decided: at most four steps, each after one turn. */
async function decided(): Promise<void> {
  for (let turn = 0; turn < 24; turn += 1) await new Promise(setImmediate);
}

/** One row per combination, where combinations that differ only in steps that were not asked share a row. */
async function section(
  title: string,
  begin: (scripts: Scripts) => { readonly route: ScriptedRoute; readonly outcome: () => string },
  all = combinations(),
): Promise<string[]> {
  const begun = all.map(begin);
  await decided();
  const rows = new Map<string, string>();
  for (const { route, outcome } of begun) {
    const known = rows.get(route.pattern);
    assert.ok(known === undefined || known === outcome(), `${title}: ${route.pattern} ended in two ways`);
    rows.set(route.pattern, outcome());
  }
  return [`# ${title}`, ...[...rows].map(([pattern, outcome]) => `${pattern}  ${outcome}`).sort(), ''];
}

function request(scripts: Scripts) {
  const route = new ScriptedRoute(scripts);
  const judged = new JudgedExchange([route]);
  judged.exchange.start();
  return { route, outcome: () => judged.outcome };
}

/** Admitted before the modules do what the combination says. */
function inProgress(change: (route: ScriptedRoute, judged: JudgedExchange) => void) {
  return (scripts: Scripts) => {
    const route = new ScriptedRoute(ALL_PASS);
    const judged = new JudgedExchange([route]);
    judged.exchange.start();
    route.asked = [];
    route.scripts = scripts;
    change(route, judged);
    return { route, outcome: () => judged.outcome };
  };
}

function ownPath(path: string) {
  return (scripts: Scripts) => {
    const route = new ScriptedRoute(scripts);
    const judged = new JudgedExchange([route], path);
    judged.exchange.start();
    return { route, outcome: () => judged.outcome };
  };
}

/** The login of an open route is asked for the module of a path on another, which has no login. */
function moduleFor(scripts: Scripts) {
  const open = new ScriptedRoute(ALL_PASS);
  const route = new ScriptedRoute(scripts, false);
  const judged = new JudgedExchange([open, route], LOGIN_PATH);
  let answer = '';
  open.serve = (site) => {
    const found = site.moduleFor('/1');
    if ('refusal' in found) answer = `refusal ${found.refusal.status}, ${found.refusal.reason}`;
    else answer = `found ${found.found === null ? 'null' : 'a module'}`;
    return { status: 200, headers: [], body: '' };
  };
  judged.exchange.start();
  return { route, outcome: () => [answer, judged.outcome].filter((text) => text !== '').join(', ') };
}

function explanation(as: HypotheticalQuestion['as']) {
  return (scripts: Scripts) => {
    const route = new ScriptedRoute(scripts);
    const asked = { permit: null, client: { head: { headers: [] } } } as unknown as HypotheticalRequest;
    const ended = { text: 'waits' };
    explainRoute(
      asked,
      { route: route.snapshot } as never,
      { as } as HypotheticalQuestion,
      { modules: MODULES, lastLogins: async () => [] } as never,
    ).then(
      ({ decisions, outcome: { status } }) => {
        const parts = decisions.map(({ module, decision, reason }) => `${module} ${decision} ${reason}`);
        ended.text = `${parts.join(', ')}: ${status}${asked.permit === null ? '' : ` as ${asked.permit['userId']}`}`;
      },
      (error: Error) => {
        ended.text = `throws: ${error.message}`;
      },
    );
    return { route, outcome: () => ended.text };
  };
}

test('every combination of verdicts ends as the table says, on all four ways', async ({ mock }) => {
  // Explanations wait for a module that does not decide.
  mock.timers.enable({ apis: ['setTimeout'] });
  const table = [
    '# P passes, R refuses, T throws; p, r, t do so later; n never decides; * was not asked.',
    '# Steps: address rule, token, login, rules of access.',
    '',
    ...(await section('A request', request)),
    ...(await section(
      'A request in progress, after a change of the configuration',
      inProgress((_, { exchange, edge }) => exchange.reevaluate(edge)),
    )),
    ...(await section(
      'A request in progress that is now that of somebody else',
      inProgress((route, { exchange, edge }) => {
        route.user.id = 'bob';
        exchange.reevaluate(edge);
      }),
    )),
    ...(await section(
      'A request in progress, after a change of its user, whose permit is held',
      inProgress((route, { exchange }) => {
        route.user.version += 1;
        exchange.look(1);
      }),
    )),
    ...(await section("A path of the login's", ownPath(LOGIN_PATH))),
    ...(await section('A path of the access module', ownPath(GUEST_PATH))),
    ...(await section("A path of the login's that asks for the module of another route, which has none", moduleFor)),
    ...(await explained(mock.timers, 'An explanation', null)),
    ...(await explained(mock.timers, 'An explanation for an assumed person', { email: 'eve', claims: {} })),
  ].join('\n');
  assert.deepEqual(unscripted, []);
  if (!existsSync(TABLE)) {
    writeFileSync(TABLE, table);
    assert.fail('the table was missing: it is written now, look at it');
  }
  assert.equal(table, readFileSync(TABLE, 'utf8'), 'to accept a change, delete the table and run the test again');
});

/** Modules that never decide are waited for until the time is up, which the test does not wait for. */
async function explained(timers: { tick(ms: number): void }, title: string, as: HypotheticalQuestion['as']) {
  const begin = explanation(as);
  const all = combinations();
  const isEndless = (scripts: Scripts): boolean => Object.values(scripts).includes('n' satisfies Script);
  const endless = all.filter(isEndless).map(begin);
  const pending = decided().then(() => timers.tick(3_000));
  await pending;
  const rows = await section(
    title,
    begin,
    all.filter((scripts) => !isEndless(scripts)),
  );
  const more = endless.map(({ route, outcome }) => `${route.pattern}  ${outcome()}`);
  const [heading = '', ...known] = rows.slice(0, -1);
  return [heading, ...[...new Set([...known, ...more])].sort(), ''];
}

test('of two routes with own paths, one that is open serves them', () => {
  const rows: string[] = [];
  const scripts: readonly Script[] = ['P', 'R', 'n'];
  for (const one of scripts) {
    for (const two of scripts) {
      const routes = [one, two].map((address) => new ScriptedRoute({ ...ALL_PASS, address }));
      const judged = new JudgedExchange(routes, LOGIN_PATH);
      judged.exchange.start();
      rows.push(`${one}${two} ${judged.outcome}`);
    }
  }
  assert.deepEqual(rows, [
    'PP answered 200',
    'PR answered 200',
    'Pn answered 200',
    'RP answered 200',
    'RR answered 403, first:address',
    'Rn answered 403, first:address',
    'nP answered 200',
    'nR answered 503, first:unprepared',
    'nn answered 503, first:unprepared',
  ]);
});

test('a module that fails after its request was refused, because an own path waits for nobody, is reported', async () => {
  const reported: unknown[] = [];
  const stop = onBug(({ error, facts }) => reported.push([String(error), facts]));
  const route = new ScriptedRoute({ ...ALL_PASS, address: 't' });
  const judged = new JudgedExchange([route], LOGIN_PATH);
  judged.exchange.start();
  await decided();
  stop();
  assert.deepEqual(reported, [['Error: address has a bug', { request_id: 'rq_1' }]]);
  assert.equal(judged.outcome, 'answered 503, first:unprepared');
});
