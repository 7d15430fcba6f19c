import type { Static } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { type AddressWords, addressWords } from '../../kit/net/address-table.ts';
import { rangeText } from '../../kit/net/range-text.ts';
import { idString, reference } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { AcceptedForm, AgentForm, AgentRecord } from '../contract/agent-form.ts';
import { isPass, type Verdict } from '../contract/decides.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import { ipRestrictionErrors } from './errors.ts';
import {
  type ListMatcher,
  type ListMatchers,
  matchersOf,
  type PolicyRules,
  policyLists,
  policyRules,
  REFUSED,
} from './policy-lists.ts';
import { ipRestrictionSettings } from './settings.ts';

const ranges = (description: string) => Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100, description });

/** In the bind message: ranges instead of the policies that an operator would refer to. */
const ipRestrictionAgentSchema = Type.Object({
  allow: ranges('Ranges (CIDR) of clients that may connect. Empty: all that are not denied.'),
  deny: ranges('Ranges (CIDR) of clients that are denied, whatever "allow" has. Only one of the lists may be empty.'),
});

const ipRestrictionAgentForm: AgentForm = {
  order: 2,
  group: 'entry',
  key: 'ip_restriction',
  shape: 'map',
  protocols: ['https', 'http', 'tcp', 'tls'],
  helpExample: '--allow-cidr 192.0.2.0/24',
  fields: [
    {
      name: 'allow',
      key: 'allow_cidrs',
      example: '10.0.0.0/8',
      rule: 'cidr',
      flag: { name: 'allow-cidr', hint: 'CIDR', description: 'Allow only clients in this range.' },
    },
    {
      name: 'deny',
      key: 'deny_cidrs',
      example: '192.0.2.0/24',
      rule: 'cidr',
      flag: { name: 'deny-cidr', hint: 'CIDR', description: 'Deny clients in this range.' },
    },
  ],
  // An empty module would look like a protection and be none.
  whenEmpty: 'ip_restriction has no ranges: write allow_cidrs or deny_cidrs, or remove it',
  summary: ['allow {allow}', 'deny {deny}'],
};

const EVERYBODY = ['0.0.0.0/0', '::/0'];

/** Without an allow list everybody is allowed whom nothing denies. */
function agentPolicy(form: JsonObject, endpointId: string): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { allow, deny } = form as Static<typeof ipRestrictionAgentSchema>;
  if (allow.length === 0 && deny.length === 0) return { problem: 'must have at least one allowed or denied range' };
  const policyId = `${endpointId}.policy`;
  const rule = (action: 'allow' | 'deny', cidr: string, at: number): AgentRecord => {
    return { kind: 'ip_policy_rule', id: `${policyId}.${action}.${at}`, parent: policyId, doc: { action, cidr } };
  };
  return {
    config: { enabled: true, ip_policy_ids: [policyId] },
    records: [
      { kind: 'ip_policy', id: policyId, parent: null, doc: {} },
      ...(allow.length === 0 ? EVERYBODY : allow).map((cidr, at) => rule('allow', cidr, at)),
      ...deny.map((cidr, at) => rule('deny', cidr, at)),
    ],
  };
}

/** A policy as all routes share it. */
interface Policy {
  readonly id: string;
  readonly rules: PolicyRules;
  readonly lists: ListMatchers;
}

/**
 * Allowed if an allow rule or list matches and no deny rule or list does; an unreadable address is rejected. A list
 * that is rehearsed decides nothing: of a request that passes, it is said that the list would refuse it.
 */
export function restrictAddresses(policyIds: readonly string[], ports: PreparePorts): Preparation {
  // A missing policy, rule or list may have contained a deny: the rest must not decide alone.
  const lost = policyIds.find((id) => ports.record('ip_policy', id) === undefined);
  if (lost !== undefined) return unprepared(`the IP policy ${lost} does not exist`);
  const read = policyIds.map((id) => ({
    id,
    rules: ports.childTable(policyRules, id),
    lists: ports.childTable(policyLists, id),
  }));
  for (const { id, rules, lists } of read) {
    const strange = lists.find(({ doc }) => doc['action'] !== 'allow' && doc['action'] !== 'deny');
    if (strange !== undefined) return unprepared(`the list ${strange.id} of the IP policy ${id} has an unknown action`);
    if (rules.unreadable > 0) return unprepared(unreadableText(id, rules));
  }
  const policies = read.map(({ id, rules, lists }): Policy => {
    return { id, rules, lists: matchersOf(id, lists, ports.addressLists) };
  });
  for (const { lists } of policies) if (lists.problem !== null) return unloaded(lists.problem);
  const listsOf = (kind: 'allow' | 'deny' | 'rehearsed'): readonly ListMatcher[] =>
    policies.flatMap(({ lists }) => lists[kind]);
  const [denying, allowing] = [policies.filter(has('deny')), policies.filter(has('allow'))];
  const [denyLists, allowLists, rehearsed] = [listsOf('deny'), listsOf('allow'), listsOf('rehearsed')];
  return {
    ok: true,
    prepared: {
      judge: (request) => {
        const address = addressWords(request.clientAddress);
        if (address === null) return REFUSED;
        const verdict =
          firstRule(denying, 'deny', address) ??
          firstList(denyLists, address) ??
          firstRule(allowing, 'allow', address) ??
          firstList(allowLists, address) ??
          REFUSED;
        return rehearsed.length > 0 && isPass(verdict) ? (firstList(rehearsed, address) ?? verdict) : verdict;
      },
      whyRefused: ({ clientAddress }, { rule }) =>
        rule === undefined
          ? `No rule lets in the address ${clientAddress}. ${allowedText(allowing, allowLists.length)} Change who may enter, or the IP policy ${policyIds.join(' or ')}.`
          : `A rule keeps out the address ${clientAddress}: ${rule.text}. Change who may enter, or the IP policy ${rule.parent}.`,
    },
  };
}

function has(action: 'allow' | 'deny'): (policy: Policy) => boolean {
  return ({ rules }) => !rules[action].isEmpty;
}

const MAX_NAMED = 5;

function allowedText(policies: readonly Policy[], lists: number): string {
  const ranges = policies.flatMap(({ rules }) => rules.allow.some(MAX_NAMED + 1).map(({ cidr }) => rangeText(cidr)));
  const more = ranges.length > MAX_NAMED ? ' and others' : '';
  const named = [
    ...(ranges.length === 0 ? [] : [`${ranges.slice(0, MAX_NAMED).join(', ')}${more}`]),
    ...(lists === 0 ? [] : [`the addresses of ${lists === 1 ? 'a list' : `${lists} lists`}`]),
  ];
  return named.length === 0 ? 'Nobody is let in.' : `Let in: ${named.join(' and ')}.`;
}

/** The newest matching rule of the first policy that has one. */
function firstRule(policies: readonly Policy[], action: 'allow' | 'deny', address: AddressWords): Verdict | null {
  for (const { id, rules } of policies) {
    const rule = rules[action].find(address);
    if (rule !== null) return rule.verdictIn(id);
  }
  return null;
}

function firstList(lists: readonly ListMatcher[], address: AddressWords): Verdict | null {
  for (const list of lists) {
    const verdict = list.verdictOn(address);
    if (verdict !== null) return verdict;
  }
  return null;
}

function unreadableText(policyId: string, { unreadable, example }: PolicyRules): string {
  const which = unreadable === 1 ? 'a rule' : `${unreadable} rules`;
  const found = example === null ? '' : `: ${example.id} ${example.problem}`;
  return `${which} of the IP policy ${policyId} cannot be applied${found}`;
}

function unprepared(what: string): Preparation {
  const message = `${what}, so the ip_restriction module cannot decide: delete or replace it, or the module`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}

function unloaded(what: string): Preparation {
  const message = `${what}. GET /ip_policy_lists shows its state; with "enforce": false it refuses nobody`;
  return { ok: false, problem: { code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } };
}

const MAX_POLICIES = 10;

const ipRestrictionConfig = Type.Object({
  enabled: enabledField,
  ip_policy_ids: reference(
    { kinds: ['ip_policy'], readAs: 'ip_policies' },
    Type.Array(idString('Id of an IP policy.'), {
      default: [],
      maxItems: MAX_POLICIES,
      description: `Ids of 1 to ${MAX_POLICIES} distinct IP policies. May be empty only while "enabled" is false.`,
    }),
  ),
});

/** Admits an address when an allow rule or list of the policies matches it and no deny rule or list does. */
export const ipRestriction = defineModule({
  name: 'ip_restriction',
  on: ['requests', 'connections'],
  decidesAccess: true,
  readsPath: false,
  title: 'IP restriction module',
  description:
    'Admits a client if an allow rule or allow list of the policies matches its address and no deny rule or deny list does.',
  config: ipRestrictionConfig,
  example: { ip_policy_ids: ['ipp_2zXAMPLEpolicyOfTheDocsAAAA'] },
  check,
  agent: { form: ipRestrictionAgentForm, schema: ipRestrictionAgentSchema, accept: agentPolicy },
  reasons: { address: 'A rule or a list allows the address of the client.' },
  settings: ipRestrictionSettings,
  errors: { title: 'Traffic: IP restriction', rows: ipRestrictionErrors.rows },
  childTables: [policyRules, policyLists],
  prepare: (config, ports) => restrictAddresses(config.ip_policy_ids, ports),
});

function check(config: Type.Static<typeof ipRestrictionConfig>): readonly FieldProblem[] {
  const ids = config.ip_policy_ids;
  if (config.enabled && ids.length === 0) {
    return [
      bodyProblem(
        'ip_policy_ids',
        `must list 1 to ${MAX_POLICIES} IP policies while the module is enabled: create one with POST /ip_policies, or send "enabled": false`,
      ),
    ];
  }
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  return repeated === undefined
    ? []
    : [bodyProblem('ip_policy_ids', `lists ${repeated} twice: list each IP policy once`)];
}
