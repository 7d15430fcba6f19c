import { join } from 'node:path';
import type { Program } from './this-program.ts';

/** One JSON object per line: a request to a running server, then its replies, the last of which has `ok`. */
export interface RestartRequest extends Program {
  readonly do: 'restart';
  readonly timeout_seconds: number;
}

export type RestartReply =
  | { readonly say: string }
  | { readonly ok: true; readonly pid: number; readonly version: string }
  | { readonly ok: false; readonly message: string };

/** `postern open` asks for a link that makes somebody the first administrator. */
export interface AdministratorLinkRequest {
  readonly do: 'administrator_link';
}

/** `url` is null if there is an administrator, or none can be made. */
export type AdministratorLinkReply =
  | { readonly ok: true; readonly url: string | null }
  | { readonly ok: false; readonly message: string };

export function isAdministratorLinkRequest(value: unknown): value is AdministratorLinkRequest {
  return (value as Partial<AdministratorLinkRequest> | null)?.do === 'administrator_link';
}

/** A command without an API key asks for a token for the API. */
export interface LocalSessionRequest {
  readonly do: 'local_session';
}

export type LocalSessionReply =
  /** `url`: where this process, and no other one, serves the API. */
  | {
      readonly ok: true;
      readonly url: string;
      readonly token: string;
      readonly name: string;
      readonly expiresAtMs: number;
    }
  | { readonly ok: false; readonly message: string };

export function isLocalSessionRequest(value: unknown): value is LocalSessionRequest {
  return (value as Partial<LocalSessionRequest> | null)?.do === 'local_session';
}

export const DEFAULT_TIMEOUT_SECONDS = 60;
export const LONGEST_TIMEOUT_SECONDS = 3_600;

/** One socket per server, named after its process. Several servers may share a data directory with PostgreSQL. */
export function controlDirectory(dataDir: string): string {
  return join(dataDir, 'control');
}

export function isRestartRequest(value: unknown): value is RestartRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { do: what, command, args, timeout_seconds: seconds } = value as Partial<RestartRequest>;
  return (
    what === 'restart' &&
    typeof command === 'string' &&
    Array.isArray(args) &&
    args.every((arg) => typeof arg === 'string') &&
    typeof seconds === 'number' &&
    seconds > 0 &&
    seconds <= LONGEST_TIMEOUT_SECONDS
  );
}
