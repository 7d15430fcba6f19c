/** For a provider that does not say: the login is to be asked about now and then, or its end there is never heard of. */
const DEFAULT_SECONDS = 3600;
/** A provider that says 0 would be asked with every request. */
const MIN_SECONDS = 10;

/** When the provider is asked again about a login. */
export function accessExpiresAtMs(expiresInSeconds: number | null, nowMs: number): number {
  return nowMs + Math.max(expiresInSeconds ?? DEFAULT_SECONDS, MIN_SECONDS) * 1000;
}
