import Type from 'typebox';
import { idString, reference } from '../../lib/schema/annotations.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import { ipRestrictionAgentForm, ipRestrictionAgentSchema } from './agent-form.ts';
import { agentPolicy } from './agent-policy.ts';
import { ipRestrictionErrors } from './errors.ts';
import { policyLists } from './policy-lists.ts';
import { policyRules } from './policy-rules.ts';
import { restrictAddresses } from './restrict-addresses.ts';
import { ipRestrictionSettings } from './settings.ts';

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
  level: 'route',
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
