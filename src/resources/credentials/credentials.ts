import Type from 'typebox';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { ownerId } from '../owner-id.ts';
import { defineResource, describedFields } from '../resource.ts';
import { hashToken } from '../token-hash.ts';
import { aclRuleProblem } from './acl-rule-problem.ts';

/** Authtokens of agents. */
export const credentials = defineResource({
  name: 'credentials',
  kind: 'credential',
  idPrefix: 'cr',
  path: '/credentials',
  listKey: 'credentials',
  title: 'a tunnel credential',
  description:
    'An authtoken for agents. Its token is shown once, when it is made, and stored as a hash only. Deleting it ends the sessions opened with it.',
  eventNoun: 'tunnel_credential',
  config: Type.Object({
    ...describedFields,
    acl: Type.Array(Type.String({ maxLength: 520 }), {
      default: [],
      maxItems: 1000,
      description:
        'What agents with this token may open and configure. "bind:app.example.com", "bind:*.example.com", "bind:env=prod" allow names and labels; without a "bind:" rule, all. "configure:oidc", "configure:*" allow modules on addresses of agents; without a "configure:" rule, all.',
    }),
  }),
  derived: { owner_id: ownerId },
  shownOnce: {
    token: Type.String({
      description: 'The authtoken itself, for the agent. Shown only here.',
      examples: ['postern_cr_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { description: 'build machines', acl: ['bind:*.builds.example.com'] },
  check: (config) => {
    const problem = config.acl.map(aclRuleProblem).find((each) => each !== null);
    return problem === undefined ? [] : [bodyProblem('acl', problem)];
  },
  onCreate: (_config, ports) => {
    const token = ports.newToken('postern_cr_');
    return { internal: { token_hash: hashToken(token) }, shownOnce: { token } };
  },
  uniqueKeys: (_config, _owner, extra) => [
    { scope: 'credential_token', key: String((extra['internal'] as { token_hash: string }).token_hash) },
  ],
  afterDelete: async (record, { store }) => {
    await store.presence.removeByCredential(record.id);
  },
});
