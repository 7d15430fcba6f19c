/**
 * For a provider that does not announce it: the login must be checked periodically, or its end there is never noticed.
 */
const DEFAULT_SECONDS = 3600;
/** A provider that announces 0 would be asked with every request. */
const MIN_SECONDS = 10;

/** When the provider is asked again about a login. */
export function accessExpiresAtMs(expiresInSeconds: number | null, nowMs: number): number {
  return nowMs + Math.max(expiresInSeconds ?? DEFAULT_SECONDS, MIN_SECONDS) * 1000;
}
