import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { preparePorts } from '../../../test/support/inert-ports.ts';
import { AddressTable } from '../../kit/net/address-table.ts';
import { cidrMatcher, parseAddress } from '../../kit/net/cidr.ts';
import { parseAddressList } from '../../kit/net/parse-address-list.ts';
import { type Answer, isAnswer, isPass, type TrafficRequest, type Verdict } from '../contract/decides.ts';
import type { ChildRecord, Preparation, PreparePorts } from '../contract/prepare.ts';
import { restrictAddresses } from './ip-restriction.ts';

const RULES = [
  { id: 'ipr_allow', doc: { action: 'allow', cidr: '10.0.0.0/8' } },
  { id: 'ipr_deny', doc: { action: 'deny', cidr: '10.1.0.0/16' } },
];

function verdictOn(clientAddress: string): Exclude<Verdict, Answer> {
  return asked(restrictAddresses(['ipp_1'], portsWith({ ipp_1: { rules: RULES, lists: [] } })), clientAddress);
}

function asked(preparation: Preparation, clientAddress: string): Exclude<Verdict, Answer> {
  assert(preparation.ok);
  const verdict = preparation.prepared.judge?.({ clientAddress } as TrafficRequest);
  assert(verdict !== undefined && !(verdict instanceof Promise) && !isAnswer(verdict));
  return verdict;
}

interface StoredPolicy {
  readonly rules: readonly ChildRecord[];
  readonly lists: readonly (ChildRecord & { readonly lines: string })[];
}

/** Records as the replica has them: newest first. */
function portsWith(policies: Readonly<Record<string, StoredPolicy>>): PreparePorts {
  const newestFirst = (records: readonly ChildRecord[] = []) => records.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const lists = Object.values(policies).flatMap((policy) => policy.lists);
  const tables = new Map(lists.map(({ id, lines }) => [id, tableOf(lines)]));
  return preparePorts({
    record: (_kind, id) => (id in policies ? {} : undefined),
    children: (kind, parent) => newestFirst(policies[parent]?.[kind === 'ip_policy_rule' ? 'rules' : 'lists']),
    addressLists: { of: (id) => ({ addresses: tables.get(id) as AddressTable }) },
  });
}

function tableOf(lines: string): AddressTable {
  return new AddressTable(parseAddressList(Buffer.from(lines)).table);
}

suite('the verdict on an address', () => {
  test('names the rule that allows it', () => {
    const verdict = verdictOn('10.2.3.4');
    assert.equal(isPass(verdict), true);
    const rule = { kind: 'ip_policy_rule', id: 'ipr_allow', parent: 'ipp_1', text: 'allow 10.0.0.0/8' };
    assert.deepEqual(verdict, { isPass: true, reason: 'address', rule });
  });

  test('names the rule that denies it, whatever allows it', () => {
    const verdict = verdictOn('10.1.3.4');
    assert.equal(isPass(verdict), false);
    assert.equal(verdict.reason, 'address');
    assert.equal(verdict.rule?.id, 'ipr_deny');
    assert.equal(verdict.rule?.text, 'deny 10.1.0.0/16');
  });

  test('names no rule when none matches, or the address cannot be read', () => {
    for (const address of ['192.0.2.1', 'unknown']) {
      const verdict = verdictOn(address);
      assert.equal(isPass(verdict), false);
      assert.equal(verdict.rule, undefined);
    }
  });

  test('is the one of a scan of all rules and lists, and names the same one', () => {
    fc.assert(
      fc.property(
        fc.array(policy, { minLength: 1, maxLength: 3 }),
        fc.array(address, { minLength: 8 }),
        (all, texts) => {
          const policies = Object.fromEntries(all.map((each, at) => [`ipp_${at}`, withIds(each, at)]));
          const ports = portsWith(policies);
          const ids = Object.keys(policies).toReversed();
          const preparation = restrictAddresses(ids, ports);
          for (const text of texts) {
            const verdict = asked(preparation, text);
            const said = isPass(verdict) ? (verdict.wouldRefuse?.rule ?? verdict.rule?.id) : verdict.rule?.id;
            assert.deepEqual([isPass(verdict), said ?? null], scanned(ids, policies, text), text);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

for (const [what, doc] of [
  ['a range that cannot be read', { action: 'deny', cidr: '10.0.0.0/99' }],
  ['a range that is no text', { action: 'deny', cidr: { toString: 1 } }],
  ['no range', { action: 'deny' }],
  ['an unknown action', { action: 'challenge', cidr: '10.0.0.0/8' }],
] as const) {
  test(`a rule with ${what} keeps its policy from deciding, and is named`, () => {
    const rules = [...RULES, { id: 'ipr_strange', doc: doc as ChildRecord['doc'] }];
    const preparation = restrictAddresses(['ipp_1'], portsWith({ ipp_1: { rules, lists: [] } }));
    assert.equal(preparation.ok, false);
    assert.match(preparation.problem.message, /a rule of the IP policy ipp_1 cannot be applied: ipr_strange has/);
  });
}

const near = fc.tuple(fc.constantFrom(10, 11), fc.nat(3), fc.constantFrom(0, 255), fc.nat(3));
const ipv4 = near.map((parts) => parts.join('.'));
const ipv6 = fc.tuple(fc.nat(2), fc.nat(3)).map(([net, host]) => `2001:db8:${net}::${host}`);
const address = fc.oneof(
  ipv4,
  ipv6,
  ipv4.map((text) => `::ffff:${text}`),
  fc.constantFrom('unknown', '', '::'),
);
const cidr = fc.oneof(
  fc.tuple(ipv4, fc.constantFrom(0, 7, 8, 16, 30, 31, 32)).map(([text, bits]) => `${text}/${bits}`),
  fc.tuple(ipv6, fc.constantFrom(0, 1, 32, 48, 127, 128)).map(([text, bits]) => `${text}/${bits}`),
  fc.tuple(ipv4, fc.constantFrom(0, 90, 96, 104, 128)).map(([text, bits]) => `::ffff:${text}/${bits}`),
);
const action = fc.constantFrom('allow', 'deny');
const policy = fc.record({
  rules: fc.array(fc.record({ action, cidr }), { maxLength: 12 }),
  lists: fc.array(fc.record({ action, enforce: fc.boolean(), lines: cidr }), { maxLength: 3 }),
});

type DrawnPolicy = typeof policy extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** In the order of the alphabet, as ids are in the order of time. */
function withIds({ rules, lists }: DrawnPolicy, at: number): StoredPolicy {
  const letter = (index: number): string => String.fromCharCode(97 + index);
  return {
    rules: rules.map((doc, index) => ({ id: `ipr_${at}_${letter(index)}`, doc })),
    lists: lists.map(({ lines, ...doc }, index) => ({ id: `ipl_${at}_${letter(index)}`, doc, lines })),
  };
}

/** The rules of a policy as a list that is read from the newest to the oldest, for each policy in its turn. */
function scanned(
  ids: readonly string[],
  policies: Readonly<Record<string, StoredPolicy>>,
  text: string,
): readonly [boolean, string | null] {
  const parsed = parseAddress(text);
  if (parsed === null) return [false, null];
  const inOrder = <Each>(of: (policy: StoredPolicy) => readonly Each[]): readonly Each[] =>
    ids.flatMap((id) => of(policies[id] as StoredPolicy).toReversed());
  const rule = (wanted: string) =>
    inOrder(({ rules }) => rules).find(
      ({ doc }) => doc['action'] === wanted && cidrMatcher(doc['cidr'] as string)(parsed),
    )?.id;
  const list = (wanted: string, isEnforced: boolean) =>
    inOrder(({ lists }) => lists).find(
      ({ doc, lines }) => doc['action'] === wanted && doc['enforce'] === isEnforced && cidrMatcher(lines)(parsed),
    );
  const denied = rule('deny') ?? list('deny', true)?.id;
  if (denied !== undefined) return [false, denied];
  const allowed = rule('allow') ?? list('allow', true)?.id;
  if (allowed === undefined) return [false, null];
  const rehearsed = list('deny', false);
  return [true, rehearsed === undefined ? allowed : `deny ${shownRange(rehearsed.lines)} of the list ${rehearsed.id}`];
}

function shownRange(lines: string): string {
  return tableOf(lines).textAt(0);
}
