import Type from 'typebox';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { declared, type SettingKind, type SettingValues } from '../../kit/settings/setting.ts';
import { PROVIDER_NAMES, type ProviderEndpoints, type ProviderName } from './provider-definition.ts';

export type OauthEndpoints = Readonly<Partial<Record<ProviderName, Partial<ProviderEndpoints>>>>;

const url = Type.Optional(Type.String({ maxLength: 2048 }));
const endpoints = Type.Object({ authorize_url: url, token_url: url, api_url: url }, { additionalProperties: false });

const endpointMap: SettingKind<OauthEndpoints> = {
  schema: Type.Object(Object.fromEntries(PROVIDER_NAMES.map((name) => [name, Type.Optional(endpoints)])), {
    additionalProperties: false,
  }),
  allowed: `a map from ${PROVIDER_NAMES.join(', ')} to authorize_url, token_url and api_url; as JSON in a flag or variable`,
  hint: 'JSON',
  decode: (wire) => {
    if (!isJsonObject(wire)) return undefined;
    const urls = Object.values(wire).flatMap((each) => (isJsonObject(each) ? Object.values(each) : []));
    return urls.every((each) => typeof each === 'string' && isEndpoint(each)) ? withoutEndSlashes(wire) : undefined;
  },
  encode: (value) => value as JsonObject,
};

/** Plain http is for hosts that `oidc_http_issuers` allows, and loopback: see the guarded fetch. */
function isEndpoint(text: string): boolean {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return false;
  return parsed.username === '' && parsed.password === '' && !/[?#\s]/.test(text);
}

function withoutEndSlashes(map: JsonObject): OauthEndpoints {
  const trimmed = Object.entries(map as Record<string, Record<string, string>>).map(([name, each]) => [
    name,
    Object.fromEntries(Object.entries(each).map(([key, text]) => [key, text.replace(/\/$/, '')])),
  ]);
  return Object.fromEntries(trimmed) as OauthEndpoints;
}

/** Settings of logins at OAuth providers. */
export const oauthSettings = {
  oauth_endpoints: declared(endpointMap, {
    group: 'Logins',
    default: {},
    description:
      'Addresses of OAuth providers that differ from the public ones, for GitHub Enterprise, GitLab self-managed and a tenant of Microsoft: a map from the provider to authorize_url, token_url and api_url. Absent ones are those of the public service.',
  }),
};

export type OauthSettings = SettingValues<typeof oauthSettings>;
