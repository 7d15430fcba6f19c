import { domainToUnicode } from 'node:url';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { chosenProvider, type OauthConfig, type ProviderConfig } from './oauth-config.ts';
import { PROVIDER_NAMES, type ProviderName } from './provider-definition.ts';
import { providerDefinitions } from './providers/provider-definitions.ts';

const MIN_CHECK_SECONDS = 60;

/** Rules across fields. Client id and secret are required: there is no application of a service to fall back to. */
export function checkOauth(config: OauthConfig): readonly FieldProblem[] {
  const chosen = chosenProvider(config);
  const interval = config.auth_check_interval;
  return [
    ...(chosen === null
      ? [
          bodyProblem(
            'provider',
            `must have exactly one of ${PROVIDER_NAMES.join(', ')}, and the others null or absent`,
          ),
        ]
      : providerProblems(chosen.name, chosen.config)),
    ...(interval > 0 && interval < MIN_CHECK_SECONDS
      ? [bodyProblem('auth_check_interval', `must be 0, or at least ${MIN_CHECK_SECONDS}`)]
      : []),
  ];
}

function providerProblems(name: ProviderName, config: ProviderConfig): readonly FieldProblem[] {
  const problem = (field: string, message: string): FieldProblem => ({
    path: `/provider/${name}/${field}`,
    message,
  });
  const found: FieldProblem[] = [];
  if (config.client_id === '') found.push(problem('client_id', 'must be the client ID of your own application'));
  const lists = {
    email_addresses: addressProblem,
    email_domains: domainProblem,
    teams: teamProblem,
    organizations: (text: string) => (NAME.test(text) ? null : 'must be the name of a GitHub organization'),
  } as const;
  for (const [field, check] of Object.entries(lists) as [keyof typeof lists, (text: string) => string | null][]) {
    const items = config[field] ?? [];
    if (new Set(items).size < items.length) found.push(problem(field, 'must not contain the same value twice'));
    const wrong = items.map(check).find((each) => each !== null);
    if (wrong !== undefined && wrong !== null) found.push(problem(field, wrong));
  }
  const missing = missingScope(name, config);
  if (missing !== null) found.push(problem('scopes', missing));
  return found;
}

/** Scopes that were chosen must suffice for the rules. */
function missingScope(name: ProviderName, config: ProviderConfig): string | null {
  const { emailScopes, memberScopes } = providerDefinitions[name];
  if (config.scopes.length === 0) return null;
  const lacks = (needed: readonly string[]): boolean => !needed.some((scope) => config.scopes.includes(scope));
  if (config.email_addresses.length + config.email_domains.length > 0 && lacks(emailScopes)) {
    return `must contain ${emailScopes[0]}, which the email rules need, or be empty`;
  }
  const members = (config.teams?.length ?? 0) + (config.organizations?.length ?? 0);
  return members > 0 && lacks(memberScopes)
    ? `must contain ${memberScopes[0]}, which the rules about teams and organizations need, or be empty`
    : null;
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?$/;

function addressProblem(text: string): string | null {
  const at = text.lastIndexOf('@');
  if (text !== text.toLowerCase()) return `must be in lower case: ${JSON.stringify(text)}`;
  const isAddress = at > 0 && /^[^\s@\p{Cc}]+$/u.test(text.slice(0, at)) && domainProblem(text.slice(at + 1)) === null;
  return isAddress ? null : `must be email addresses, such as "ana@example.com": ${JSON.stringify(text)}`;
}

function domainProblem(text: string): string | null {
  if (text !== text.toLowerCase()) return `must be in lower case: ${JSON.stringify(text)}`;
  const labels = text.split('.');
  const isDomain = labels.length > 1 && labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  // Invalid punycode stays as it is.
  const isEncoded = labels.every((label) => !label.startsWith('xn--') || domainToUnicode(label) !== label);
  return isDomain && isEncoded
    ? null
    : `must be domains such as "example.com", in ASCII (punycode): ${JSON.stringify(text)}`;
}

function teamProblem(text: string): string | null {
  const [owner = '', team = '', ...rest] = text.split('/');
  const isSlug = rest.length === 0 && NAME.test(owner) && /^[A-Za-z0-9_.-]{1,100}$/.test(team);
  return isSlug || /^[0-9]{1,15}$/.test(text)
    ? null
    : `must be GitHub teams as "organization/team", or their ids: ${JSON.stringify(text)}`;
}
