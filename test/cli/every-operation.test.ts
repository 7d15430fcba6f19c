import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { apiResources, verbWord } from '../../src/app/cli/api/api-resources.ts';
import type { ApiFlag } from '../../src/app/cli/api/body-flags.ts';
import { operationFlags } from '../../src/app/cli/api/operation-flags.ts';
import { operationList } from '../../src/app/cli/api/operation-list.ts';
import type { Operation } from '../../src/control/resources/operation.ts';
import type { JsonValue } from '../../src/kit/json.ts';
import { FURNISHED_ENV, FurnishedWorld } from '../conformance/furnished-world.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

const resources = apiResources(operationList());
const all = resources.flatMap(({ name, operations }) => operations.map((operation) => ({ name, operation })));
/** Ordered so that there is something to read, and nothing is deleted too early. */
const ORDER = ['create', 'replace', 'list', 'get', 'update'];
/** Operations that may be rejected for a reason of their own after they were understood. */
const REFUSED: Readonly<Record<string, string>> = {
  // The history has no such revision.
  'changes confirm': 'ERR_POSTERN_NOT_FOUND',
  'changes revert': 'ERR_POSTERN_NOT_FOUND',
  // Nothing delivers events in this world.
  'event-destinations test': 'ERR_POSTERN_NO_EVENT_DELIVERY',
  // The delivery's subscription has no destination.
  'event-deliveries replay': 'ERR_POSTERN_DELIVERY_CLOSED',
};

/** Filters that an operation cannot do without. */
const FILTERS: Readonly<Record<string, readonly string[]>> = { 'changesets claims': ['--owner', 'team-web'] };

test('every operation of the API can be called with flags alone', async () => {
  const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
  const furnished = await FurnishedWorld.furnish(world);
  const env = operatorEnv(world);
  for (const { name, operation } of inOrder()) {
    const filters = FILTERS[`${name} ${operation.verb}`] ?? [];
    const args = ['api', name, operation.verb, ...flagsFor(operation as Operation, furnished), ...filters];
    const { code, stdout, stderr } = await runCommand(args, { env });
    const refusal = refusalOf(name, operation.verb, stderr);
    if (refusal === undefined) assert.equal(code, 0, `${args.join(' ')}\n${stderr}`);
    else assert.match(stderr, new RegExp(`code +${refusal}`));
    if (operation.success.status === 204 && refusal === undefined) assert.match(stderr, /\(204\)\n$/);
    else if (refusal === undefined && operation.verb !== 'list') assert.notEqual(stdout, '', args.join(' '));
  }
  assert.ok(all.length > 100);
});

test('no two flags of an operation share a name, and every name can be typed', () => {
  for (const { name, operation } of all) {
    const names = operationFlags(operation).map((flag) => flag.name);
    assert.equal(new Set(names).size, names.length, `${name} ${operation.verb}`);
    for (const flag of names) assert.match(flag, /^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*$/);
  }
  const nouns = resources.flatMap(({ name, aliases }) => [name, ...aliases]);
  assert.equal(new Set(nouns).size, nouns.length);
});

const LONGEST_HELP = 120;

test('help at every level lists what exists, with an example whose flags exist', async () => {
  const overview = await runCommand(['api', '--help']);
  for (const { name, operations } of resources) {
    assert.match(overview.stdout, new RegExp(`^  ${name} `, 'm'));
    const help = await runCommand(['api', name, '--help']);
    for (const each of operations) assert.match(help.stdout, new RegExp(`^  ${verbWord(each)}( |$)`, 'm'));
  }
  for (const { name, operation } of all) {
    const { code, stdout } = await runCommand(['api', name, operation.verb, '--help']);
    assert.equal(code, 0);
    const { stdout: whole } = await runCommand(['api', name, operation.verb, '--help', '--all']);
    for (const flag of operationFlags(operation)) assert.ok(whole.includes(flag.name), flag.name);
    assert.ok(stdout.split('\n').length < LONGEST_HELP, `the help of ${name} ${operation.verb} fits a few screens`);
    const [, example = ''] = /Example:\n {2}postern (.*)/.exec(stdout.replaceAll(/ \\\n +/g, ' ')) ?? [];
    const used = Array.from(example.matchAll(/(?<= )--(?:no-)?([a-z][\w.-]*)/g), ([, flag]) => flag);
    const known = operationFlags(operation).map((flag) => flag.name);
    for (const flag of used) assert.ok(known.includes(flag as string), example);
  }
});

test('help fits a terminal of 80 columns, except commands to copy', async () => {
  const overview = (await runCommand(['--help'])).stdout;
  const commands = Array.from(overview.matchAll(/^ {2}([a-z-]+) {2,}/gm), ([, name]) => name as string);
  assert.ok(commands.length > 15);
  const calls = [
    [],
    ...commands.map((name) => [name]),
    ...all.map(({ name, operation }) => ['api', name, operation.verb]),
  ];
  for (const words of calls) {
    const { stdout } = await runCommand([...words, '--help']);
    const tooLong = stdout.split('\n').filter((line) => line.length > 80 && !/^(?: +postern | {6}--)/.test(line));
    assert.deepEqual(tooLong, [], words.join(' '));
  }
});

/** Some resources created by the examples refer to earlier ones, which then cannot be deleted. */
function refusalOf(name: string, verb: string, stderr: string): string | undefined {
  if (verb === 'delete' && stderr.includes('ERR_POSTERN_IN_USE')) return 'ERR_POSTERN_IN_USE';
  return REFUSED[`${name} ${verb}`];
}

function inOrder(): typeof all {
  const rank = ({ operation }: (typeof all)[number]): number => {
    const index = ORDER.indexOf(operation.verb);
    return index === -1 ? ORDER.length : index;
  };
  // Children before parents, and users after their sessions, which end with them.
  const deletes = all.filter(({ operation }) => operation.verb === 'delete').reverse();
  deletes.sort((a, b) => Number(a.name === 'app-users') - Number(b.name === 'app-users'));
  const others = all.filter(({ operation }) => operation.verb !== 'delete');
  return [...others.toSorted((a, b) => rank(a) - rank(b)), ...deletes];
}

function flagsFor(operation: Operation, furnished: FurnishedWorld): string[] {
  const flags = operationFlags(operation);
  const params = furnished.params(operation.path);
  const ids = flags.flatMap(({ name, target }) =>
    target.in === 'path' ? [`--${name}`, params[target.name] as string] : [],
  );
  if (operation.body === undefined || operation.body.parsing === 'ignored') return ids;
  const fields = Object.entries(furnished.example(operation)).flatMap(([field, value]) => {
    const flag = flags.find(({ target }) => target.in === 'body' && target.path.join('.') === field);
    return flag === undefined ? ['--set', `${field}=${JSON.stringify(value)}`] : fieldFlags(flag, value);
  });
  return [...ids, ...fields];
}

function fieldFlags(flag: ApiFlag, value: JsonValue): string[] {
  if (flag.kind === 'switch') return [value === true ? `--${flag.name}` : `--no-${flag.name}`];
  return [`--${flag.name}`, typeof value === 'string' ? value : JSON.stringify(value)];
}
