import type { HeaderList } from '../../../kit/http/header-values.ts';

/** No header can contain this character (RFC 9110 §5.5), so a masked value cannot be mistaken for a real one. */
export const MASK = '••••••••';

const SENSITIVE = new RegExp(
  [
    '^(proxy-)?authorization$',
    '^(set-)?cookie2?$',
    '^(postern|ngrok)-auth-',
    // x-api-key, x-goog-api-key, apikey, ocp-apim-subscription-key
    'api-?key$',
    'subscription-key$',
    // x-auth-token, x-csrf-token, x-amz-security-token, x-client-secret, cf-access-jwt-assertion, …
    '(^|-)(access-key|accesstoken|assertion|credentials?|jwt|passw(or)?d|secret|session(-?id)?|token)(-|$)',
    // x-amzn-oidc-data, x-forwarded-access-token
    '^x-amzn-oidc-',
  ].join('|'),
);
const SCHEME = /^(basic|bearer|digest|dpop|negotiate|ntlm|token|aws4-hmac-sha256) +\S/i;
/** Cookie attributes describe the cookie and are not secret. */
const COOKIE_ATTRIBUTE = /^(domain|expires|httponly|max-age|partitioned|path|priority|samesite|secure)(=|$)/i;

export interface ShownHeader {
  readonly name: string;
  readonly value: string;
  readonly masked?: true;
}

function isSensitive(name: string): boolean {
  return SENSITIVE.test(name);
}

/** Masks a sensitive value but keeps what identifies it: the scheme, the cookie names. */
export function maskedValue(name: string, value: string): string {
  if (name === 'cookie') return value.split(';').map(maskedPair).join(';');
  if (name === 'set-cookie') {
    const [pair = '', ...attributes] = value.split(';');
    const shown = attributes.filter((attribute) => COOKIE_ATTRIBUTE.test(attribute.trim()));
    return [maskedPair(pair), ...shown].join(';');
  }
  const scheme = SCHEME.exec(value)?.[1];
  return scheme === undefined ? MASK : `${scheme} ${MASK}`;
}

export function shownHeaders(headers: HeaderList, isUnmasked: boolean): readonly ShownHeader[] {
  const shown: ShownHeader[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (isUnmasked || !isSensitive(name)) shown.push({ name, value });
    else shown.push({ name, value: maskedValue(name, value), masked: true });
  }
  return shown;
}

function maskedPair(pair: string): string {
  const at = pair.indexOf('=');
  return at === -1 ? MASK : `${pair.slice(0, at)}=${MASK}`;
}
