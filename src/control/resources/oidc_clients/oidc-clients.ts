import Type from 'typebox';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import { OIDC_CLIENT_KIND } from '../../identity/people-records.ts';
import { defineResource, describedFields } from '../resource.ts';

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * The problem with a URI to which codes or logout tokens are sent, or null. Readers of odd spellings disagree about the
 * host, so only the canonical spelling is accepted.
 */
export function clientUriProblem(uri: string): string | null {
  const shown = JSON.stringify(uri.slice(0, 200));
  if (!URL.canParse(uri)) return `has ${shown}, which is not an absolute URL`;
  const url = new URL(uri);
  const isLoopback = url.protocol === 'http:' && LOOPBACK.has(url.hostname);
  if (url.protocol !== 'https:' && !isLoopback) {
    return `has ${shown}: use https, or http on 127.0.0.1, [::1] or localhost`;
  }
  if (url.username !== '' || url.password !== '') return `has ${shown}, which contains a user or password`;
  if (uri.includes('#')) return `has ${shown}, which contains a fragment`;
  if (uri.includes('*')) return `has ${shown}: wildcards are not supported, because URIs are compared letter by letter`;
  return url.href === uri ? null : `has ${shown}: write it as ${JSON.stringify(url.href)}`;
}

const EVERYBODY = '*';
const MAX_URIS = 50;

const uriList = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { default: [], maxItems: MAX_URIS, description });

/** Other applications at which people log in with their account here. */
export const oidcClients = defineResource({
  isNeverRestored: true,
  name: 'oidc_clients',
  kind: OIDC_CLIENT_KIND,
  idPrefix: 'oc',
  path: '/oidc_clients',
  listKey: 'oidc_clients',
  title: 'an OpenID client',
  description:
    'An application at which people log in with their account of the identity host, by OpenID Connect: the code flow with PKCE. Its secret is shown only once, in the response to the create, and stored as a hash. Edges need no client: the oidc module of a route is one by itself.',
  eventNoun: 'oidc_client',
  config: Type.Object({
    ...describedFields,
    name: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Name of the application. People see it when they log in.',
    }),
    redirect_uris: uriList(
      'Where logins may return to, compared letter by letter: https URLs, or http on 127.0.0.1, [::1] or localhost.',
    ),
    post_logout_redirect_uris: uriList('Where logouts may return to, in the same form. Default: none.'),
    backchannel_logout_uri: Type.String({
      default: '',
      maxLength: 2048,
      description:
        'Where the application hears that a person was logged out (OpenID Connect Back-Channel Logout), in the same form. Default: "".',
    }),
    allow_groups: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
      default: [],
      maxItems: 100,
      description: 'Groups whose members may log in. "*" admits everybody with an account. Default: nobody.',
    }),
    public: Type.Boolean({
      default: false,
      description:
        'Whether the application cannot keep a secret, such as a program on the devices of people: it has none then. It cannot be changed later. Default: false.',
    }),
  }),
  immutable: ['public'],
  derived: {
    client_id: Type.String({
      description: 'Client id: the id of the resource.',
      examples: ['oc_2zXAMPLEclientOfTheDocsAAAA'],
    }),
  },
  shownOnce: {
    client_secret: Type.Union([Type.String(), Type.Null()], {
      description: 'The client secret; null for a public client. Only this response shows it.',
      examples: ['postern_oc_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleE'],
    }),
  },
  example: { name: 'Wiki', redirect_uris: ['https://wiki.example.com/callback'], allow_groups: [EVERYBODY] },
  check: (client) => [
    ...repeatedProblems('allow_groups', client.allow_groups),
    ...uriProblems('redirect_uris', client.redirect_uris),
    ...uriProblems('post_logout_redirect_uris', client.post_logout_redirect_uris),
    ...(client.backchannel_logout_uri === ''
      ? []
      : uriProblems('backchannel_logout_uri', [client.backchannel_logout_uri])),
  ],
  narrowable: ['allow_groups'],
  isRevocation: (client, previous) => client === null || admitsFewer(client.allow_groups, previous.allow_groups),
  onCreate: (client, ports) => {
    const derived = { client_id: ports.id };
    if (client.public) return { derived, shownOnce: { client_secret: null } };
    const secret = ports.newToken('postern_oc_');
    return { derived, internal: { secret_hash: hashToken(secret) }, shownOnce: { client_secret: secret } };
  },
});

function uriProblems(field: string, uris: readonly string[]): readonly FieldProblem[] {
  const wrong = uris.map(clientUriProblem).find((problem) => problem !== null);
  return wrong === undefined ? repeatedProblems(field, uris) : [bodyProblem(field, wrong)];
}

function repeatedProblems(field: string, values: readonly string[]): readonly FieldProblem[] {
  const repeated = values.find((value, at) => values.indexOf(value) !== at);
  return repeated === undefined ? [] : [bodyProblem(field, `lists "${repeated}" twice: list each one once`)];
}

function admitsFewer(groups: readonly string[], previous: readonly string[]): boolean {
  if (groups.includes(EVERYBODY)) return false;
  if (previous.includes(EVERYBODY)) return true;
  const [now, before] = [new Set(groups), new Set(previous)];
  return now.isSubsetOf(before) && now.size < before.size;
}
