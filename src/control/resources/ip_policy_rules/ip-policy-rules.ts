import Type from 'typebox';
import { cidrProblem } from '../../../kit/net/cidr.ts';
import { idString, reference } from '../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import { defineResource, describedFields } from '../resource.ts';

/** One line of an IP policy. */
export const ipPolicyRules = defineResource({
  name: 'ip_policy_rules',
  kind: 'ip_policy_rule',
  idPrefix: 'ipr',
  path: '/ip_policy_rules',
  listKey: 'ip_policy_rules',
  title: 'an IP policy rule',
  description: 'An address range that a policy allows or denies.',
  eventNoun: 'ip_policy_rule',
  parent: { kind: 'ip_policy', field: 'ip_policy_id' },
  config: Type.Object({
    ...describedFields,
    cidr: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Address range in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32".',
    }),
    ip_policy_id: reference(
      { kinds: ['ip_policy'], readAs: 'ip_policy' },
      idString('Id of the IP policy that the rule belongs to. It cannot be changed later.'),
    ),
    action: Type.Enum(['allow', 'deny'], {
      default: 'allow',
      description: 'Action for addresses in the range: "allow" or "deny". It cannot be changed later.',
    }),
  }),
  immutable: ['ip_policy_id', 'action'],
  example: { cidr: '203.0.113.0/24', ip_policy_id: 'ipp_2zXAMPLEpolicyOfTheDocsAAAA', action: 'allow' },
  check: (config) => {
    const problem = cidrProblem(config.cidr);
    return problem === null ? [] : [bodyProblem('cidr', problem)];
  },
});
