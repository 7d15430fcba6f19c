import type { JsonValue } from '../../../lib/json.ts';

/** Why a field of the retired API has no place in Postern, by its name. */
export const NOT_CARRIED: Readonly<Record<string, string>> = {
  webhook_verification: 'Postern has no such module: verify webhooks in your service',
  saml: 'Postern has no such module: use a login of oidc or oauth',
  websocket_tcp_converter: 'Postern has no such module',
  traffic_policy: 'Postern has no policies: use its modules',
  policy: 'Postern has no policies: use its modules',
};

export const NO_SUCH_FIELD = 'Postern has no such field';

/** Modules that do not decide who gets in. A route or edge that loses any other part must not be open to everybody. */
export const HARMLESS: ReadonlySet<string> = new Set([
  'request_headers',
  'response_headers',
  'websocket_tcp_converter',
]);

/** What an account-wide IP restriction of these types protects is not served by Postern. */
export const OTHER_RESTRICTIONS: readonly JsonValue[] = ['api', 'dashboard', 'agent'];
