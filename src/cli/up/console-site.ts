import { ADMINISTRATORS_GROUP } from '../../config/console-settings.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { formatListenAddress } from '../../lib/net/listen-address.ts';
import type { WantedPeople } from '../../publish/wanted-edge.ts';
import { dialled } from '../doctor/dial.ts';
import type { ShownSettings } from './server-facts.ts';
import { upFailed } from './up-failed.ts';
import type { WantedUp } from './wanted-up.ts';

const RULE = /^(?:viewer|operator|admin)=(?<claim>groups|email):(?<value>.+)$/;

/**
 * The site of the console: the API behind a login at the identity host, for people who have a role. The console asks for
 * its own login too, and the rest of the API for a key, so a mistake in one of them opens nothing.
 */
export function consoleSite(host: string, settings: ShownSettings, { config }: LoadedConfig): WantedUp {
  const listOf = (name: string): unknown => settings.find((each) => each.name === name)?.value ?? null;
  const issuer = listOf('console_oidc_issuer') as string | null;
  if (issuer !== null)
    throw upFailed(
      `people log in to the console at ${issuer} (console_oidc_issuer), and --console needs the identity host: unset it, or publish the console with "postern edge" and a login there`,
    );
  const address = formatListenAddress(dialled(config.api_listen));
  return {
    host,
    port: null,
    target: { kind: 'address', address, hasTls: config.api_tls_cert !== null },
    login: 'own',
    people: peopleWith((listOf('console_roles') ?? []) as readonly string[]),
    guards: {},
    console: null,
  };
}

/** The people of the rules, where one rule of a route can name them. Otherwise everybody who logs in reaches the page, which knows the roles. */
function peopleWith(rules: readonly string[]): WantedPeople {
  const nobody = { emails: [], emailDomains: [], groups: [] };
  if (rules.length === 0) return { ...nobody, groups: [ADMINISTRATORS_GROUP] };
  const read = rules.map((rule) => RULE.exec(rule)?.groups ?? {});
  const values = read.map(({ value = '' }) => value);
  if (read.every(({ claim }) => claim === 'groups')) return { ...nobody, groups: values };
  return read.every(({ claim }) => claim === 'email') ? { ...nobody, emails: values } : nobody;
}
