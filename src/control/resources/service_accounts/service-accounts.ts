import Type from 'typebox';
import { defineResource, describedFields } from '../resource.ts';

/** Programs that may pass routes without a login. */
export const serviceAccounts = defineResource({
  name: 'service_accounts',
  kind: 'service_account',
  idPrefix: 'sa',
  path: '/service_accounts',
  listKey: 'service_accounts',
  title: 'a service account',
  description:
    'A program that passes routes without a login: its tokens are sent as "Authorization: Bearer pst_…", and the access module of a route names the account. An account that an access module names cannot be deleted.',
  eventNoun: 'service_account',
  config: Type.Object({
    ...describedFields,
    name: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Name of the program, such as "nightly backup"; sent to the upstream. 1 to 128 characters.',
    }),
    active: Type.Boolean({
      default: true,
      description:
        'Whether its tokens are accepted. False rejects them on every route and ends open streams within a second. Default: true.',
    }),
  }),
  narrowable: ['active'],
  isRevocation: (config, previous) => config === null || (previous.active && !config.active),
  example: { name: 'nightly backup', description: 'copies the wiki' },
});
