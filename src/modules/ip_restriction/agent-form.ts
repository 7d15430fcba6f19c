import Type from 'typebox';
import type { AgentForm } from '../contract/agent-form.ts';

const ranges = (description: string) => Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100, description });

/** In the bind message: ranges instead of the policies that an operator would refer to. */
export const ipRestrictionAgentSchema = Type.Object({
  allow: ranges('Ranges (CIDR) of clients that may connect. Empty: all that are not denied.'),
  deny: ranges('Ranges (CIDR) of clients that are denied, whatever "allow" has. Only one of the lists may be empty.'),
});

export const ipRestrictionAgentForm: AgentForm = {
  order: 2,
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
  // It would look like a protection and be none.
  whenEmpty: 'ip_restriction has no ranges: write allow_cidrs or deny_cidrs, or remove it',
  summary: ['allow {allow}', 'deny {deny}'],
};
