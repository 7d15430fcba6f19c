import type { Clock } from '../../kit/clock.ts';
import { ignoreErrors } from '../../kit/guarded-listeners.ts';
import { splitAddress } from '../../kit/net/host-name.ts';
import { TokenBucket } from '../../kit/token-bucket.ts';
import { createDial, upstreamSecureContext } from './dial.ts';

/** Few enough that nobody scans a network with them. */
const TESTS_PER_MINUTE = 30;
/** A person waits for the answer. */
const MAX_WAIT_MS = 5_000;

export interface TargetTesterOptions {
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  isAddressAllowed(ip: string, port: number): boolean;
}

/** Connects once to an address as an upstream would, and sends nothing. */
export class TargetTester {
  readonly #options: TargetTesterOptions;
  readonly #tests = new TokenBucket(TESTS_PER_MINUTE);

  constructor(options: TargetTesterOptions) {
    this.#options = options;
  }

  /** The reason why it failed, null if it succeeded, or the seconds until another test is allowed. */
  async test({
    address,
    isTls,
  }: {
    readonly address: string;
    readonly isTls: boolean;
  }): Promise<{ readonly reason: string | null } | { readonly waitSeconds: number }> {
    const waitMs = this.#tests.waitMs(this.#options.clock.nowMs());
    if (waitMs > 0) return { waitSeconds: Math.ceil(waitMs / 1000) };
    this.#tests.take();
    return { reason: await this.#dial(address, isTls) };
  }

  #dial(address: string, isTls: boolean): Promise<string | null> {
    const { host, port } = splitAddress(address);
    const dial = createDial({
      host,
      port,
      tls: isTls ? { servername: host, context: upstreamSecureContext(undefined) } : null,
      connectTimeoutMs: Math.min(this.#options.connectTimeoutMs, MAX_WAIT_MS),
      isAddressAllowed: (ip) => this.#options.isAddressAllowed(ip, port),
    });
    return new Promise((resolve) => {
      dial({ alpn: ['h2', 'http/1.1'], isStream: true }, (dialled, failure) => {
        if (dialled !== null) ignoreErrors(dialled.socket).destroy();
        resolve(failure?.reason ?? null);
      });
    });
  }
}
