const MAX_LENGTH = 2048;
export const LOGIN_PATH = '/.postern/login';

/** The target of a request, as far as it can be kept: all of it, otherwise its path, otherwise the start page. */
export function targetToKeep(target: string, path: string): string {
  if (target.length <= MAX_LENGTH) return target;
  return path.length <= MAX_LENGTH ? path : '/';
}

export interface LoginUrlOptions {
  readonly go?: boolean;
  readonly round?: number;
  /** For somebody who is logged in and wants to use another account. */
  readonly isSwitch?: boolean;
}

export function loginUrl(target: string, options: LoginUrlOptions = {}): string {
  const go = options.go === true ? '&go=1' : '';
  const round = options.round === undefined || options.round === 0 ? '' : `&round=${options.round}`;
  const other = options.isSwitch === true ? '&switch=1' : '';
  return `${LOGIN_PATH}?to=${encodeURIComponent(target)}${go}${round}${other}`;
}

/**
 * A return path that cannot leave this host. It is appended to our own origin, so it only has to be a path: anything
 * else becomes the start page. Our own paths are not return targets.
 */
export function safeTarget(target: string | null): string {
  if (target === null || target.length > MAX_LENGTH) return '/';
  if (!target.startsWith('/') || target.startsWith('//') || target.startsWith('/\\')) return '/';
  if (!/^[\x21-\x7e]*$/.test(target) || target.includes('\\') || target.includes('#')) return '/';
  return target.startsWith('/.postern/') ? '/' : target;
}

/**
 * Characters of a fragment (RFC 3986 §3.5) and those that browsers leave unescaped there; any other drops the fragment.
 */
export function safeFragment(fragment: string | null, target: string): string {
  if (fragment === null || fragment === '' || target.length + fragment.length + 1 > MAX_LENGTH) return '';
  return /^[\x21-\x7e]*$/.test(fragment) ? `#${fragment}` : '';
}

/** `https://host[:port]`, as the browser shows it. */
export function originOf(request: { readonly authority: string }): string {
  return `https://${request.authority.toLowerCase().replace(/:443$/, '')}`;
}
