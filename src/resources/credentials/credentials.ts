import Type, { type TArray, type TString } from 'typebox';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import type { Store } from '../../store/store.ts';
import { ownerId } from '../owner-id.ts';
import { defineResource, describedFields } from '../resource.ts';
import { aclRuleProblem, CONFIGURE_EXAMPLE } from './acl-rule-problem.ts';
import { CREDENTIAL_PREFIX } from './credential-token.ts';
import { isNarrowerAcl } from './narrower-acl.ts';

export interface CredentialPorts {
  readonly store: Pick<Store, 'presence'>;
}

export function aclField(description: string): TArray<TString> {
  return Type.Array(Type.String({ maxLength: 520 }), { default: [], maxItems: 1000, description });
}

/** Authtokens of agents. */
export const credentials = defineResource({
  isNeverRestored: true,
  name: 'credentials',
  kind: 'credential',
  idPrefix: 'cr',
  path: '/credentials',
  listKey: 'credentials',
  title: 'a tunnel credential',
  description:
    'An agent token, with the rules for what its agents may open. The token is shown only once, in the response to the create, and stored as a hash. Deleting the credential ends its tunnel sessions.',
  eventNoun: 'tunnel_credential',
  config: Type.Object({
    ...describedFields,
    acl: aclField(
      `Permissions of agents with this token. "bind:app.example.com", "bind:*.example.com" and "bind:env=prod" allow host names and labels; without a "bind:" rule, all are allowed. "${CONFIGURE_EXAMPLE}" and "configure:*" allow modules on the endpoints of agents; without a "configure:" rule, all are allowed.`,
    ),
  }),
  derived: { owner_id: ownerId },
  shownOnce: {
    token: Type.String({
      description: 'The agent token. Only this response shows it.',
      examples: ['postern_cr_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { description: 'build machines', acl: ['bind:*.builds.example.com'] },
  check: (config) => {
    const problem = config.acl.map(aclRuleProblem).find((each) => each !== null);
    return problem === undefined ? [] : [bodyProblem('acl', problem)];
  },
  isRevocation: (config, previous) => config === null || isNarrowerAcl(config.acl, previous.acl),
  onCreate: (_config, ports) => {
    const token = ports.newToken(CREDENTIAL_PREFIX);
    return { internal: { token_hash: hashToken(token) }, shownOnce: { token } };
  },
  uniqueKeys: (_config, _owner, extra) => [
    { scope: 'credential_token', key: String((extra['internal'] as { token_hash: string }).token_hash) },
  ],
  afterDelete: async (record, { store }: CredentialPorts) => {
    await store.presence.removeByCredential(record.id);
  },
});
