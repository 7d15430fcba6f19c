import { type Flag, isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import type { WantedLogin } from '../../publish/wanted-edge.ts';
import { fileFlag, switchFlag, textFlag } from '../shared-flags.ts';

export const LOGIN_FLAGS: readonly Flag[] = [
  switchFlag('login', "Require a login at the server's own identity host (identity_host)."),
  textFlag('oidc', 'ISSUER', 'Require a login at this OpenID provider: the URL of its issuer.'),
  textFlag('client-id', 'ID', 'With --oidc: client id of your application at the provider.'),
  fileFlag('client-secret-file', 'With --oidc: file with the client secret, - reads standard input.'),
];

/** What the command line says: a provider, our own identity host (whose issuer the server knows), or no login. */
export type ParsedLogin = WantedLogin | 'own' | null;

export function parseLogin(parsed: ParsedFlags, clientSecret: string | null): ParsedLogin {
  const { flags } = parsed;
  const [issuer, clientId] = [flags.get('oidc'), flags.get('client-id')];
  if (isOn(parsed, 'login')) {
    const [extra] = ['oidc', 'client-id', 'client-secret-file'].filter((name) => flags.has(name));
    if (extra !== undefined) throw usage(`--login and --${extra} exclude each other: --login needs no other provider`);
    return 'own';
  }
  if (issuer === undefined) {
    const [extra] = ['client-id', 'client-secret-file'].filter((name) => flags.has(name));
    if (extra !== undefined) throw usage(`--${extra} needs --oidc ISSUER`);
    return null;
  }
  if (clientId === undefined) throw usage('--oidc needs --client-id ID, which the provider gave your application');
  return { issuer, clientId, clientSecret };
}

export const NO_IDENTITY_HOST =
  '--login needs an identity host, and the server has none: set identity_host and start it again, or use --oidc ISSUER';
