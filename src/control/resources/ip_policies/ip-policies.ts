import Type from 'typebox';
import { defineResource, describedFields } from '../resource.ts';

/** A set of address rules that the ip_restriction module applies. */
export const ipPolicies = defineResource({
  name: 'ip_policies',
  kind: 'ip_policy',
  idPrefix: 'ipp',
  path: '/ip_policies',
  listKey: 'ip_policies',
  title: 'an IP policy',
  description:
    'A set of rules for client addresses, applied by the IP restriction module. Deleting a policy deletes its rules.',
  eventNoun: 'ip_policy',
  config: Type.Object({ ...describedFields }),
  example: { description: 'office and VPN' },
});
