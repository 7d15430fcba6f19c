import { HTTP_URL_FORM, parseHttpUrl } from '../lib/http/http-url.ts';
import { isLoopbackHost } from '../lib/net/listen-address.ts';
import type { ProviderOption } from './dns-provider.ts';

export function secretOption(description: string, isRequired = true): ProviderOption {
  return { description, kind: 'secret', isRequired };
}

export function textOption(
  description: string,
  {
    isRequired = false,
    accepts,
  }: { readonly isRequired?: boolean; readonly accepts?: (value: string) => boolean } = {},
): ProviderOption {
  return { description, kind: 'text', isRequired, ...(accepts !== undefined && { accepts }) };
}

/** Credentials are sent to it: without TLS only to this machine. */
export function urlOption(description: string, isRequired = false): ProviderOption {
  const form = `${HTTP_URL_FORM}; http:// only for this machine`;
  return textOption(`${description} Allowed: ${form}.`, {
    isRequired,
    accepts: (value) => {
      const url = parseHttpUrl(value);
      return url !== null && (url.startsWith('https:') || isLoopbackHost(new URL(url).hostname));
    },
  });
}
