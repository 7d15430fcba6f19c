import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { AcmeFailure } from './acme-failure.ts';
import { foreignOrigin, isUsableUrl } from './acme-transport.ts';

/** The server's resources (RFC 8555 §7.1.1). */
export interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** Null: keys cannot be changed. */
  readonly keyChange: string | null;
  /** RFC 9773. Null: the server has no renewal information. */
  readonly renewalInfo: string | null;
  readonly isBindingRequired: boolean;
  readonly profiles: readonly string[];
}

/** `isOwn`: whether the server may name this URL. */
export function readDirectory(
  json: JsonValue | undefined,
  directoryUrl: string,
  isOwn: (url: string) => boolean,
): Directory {
  if (!isJsonObject(json)) throw unusable(directoryUrl, 'the response is not a JSON object');
  const required = (name: string): string => {
    const url = json[name];
    if (!isUsableUrl(url)) throw unusable(directoryUrl, `"${name}" is not an https URL`);
    if (!isOwn(url)) throw foreignOrigin(new URL(directoryUrl).host, url);
    return url;
  };
  // Left out if it is elsewhere, as the renewal information of ZeroSSL is: certificates are renewed without it too.
  const optional = (name: string): string | null => {
    const url = json[name];
    return isUsableUrl(url) && isOwn(url) ? url : null;
  };
  const meta = isJsonObject(json['meta']) ? json['meta'] : {};
  const profiles = isJsonObject(meta['profiles']) ? Object.keys(meta['profiles']) : [];
  return {
    newNonce: required('newNonce'),
    newAccount: required('newAccount'),
    newOrder: required('newOrder'),
    keyChange: optional('keyChange'),
    renewalInfo: optional('renewalInfo'),
    isBindingRequired: meta['externalAccountRequired'] === true,
    profiles,
  };
}

function unusable(directoryUrl: string, reason: string): AcmeFailure {
  return new AcmeFailure(
    'ERR_POSTERN_ACME_RESPONSE',
    `${directoryUrl} is not an ACME directory: ${reason}. Set acme_directory to the directory URL of an ACME server`,
    { isOrderAlive: true },
  );
}
