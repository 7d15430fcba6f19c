import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { NodeCertificate, PeerAuthority } from '../../pki/peer-authority.ts';

const CHECK_EVERY_MS = 600_000;
const RENEW_BEFORE_MS = 24 * 60 * 60 * 1000;

export interface NodeIdentityOptions {
  readonly authority: PeerAuthority;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly onProblem: (error: unknown) => void;
}

/** This node's certificate, in memory only. It is renewed long before it ends. Open connections keep the former one. */
export class NodeIdentity {
  readonly #options: NodeIdentityOptions;
  readonly #timer: NodeJS.Timeout;
  #certificate: NodeCertificate;
  #context: SecureContext;
  #onRenewed: (() => void) | null = null;

  private constructor(options: NodeIdentityOptions, certificate: NodeCertificate) {
    this.#options = options;
    this.#certificate = certificate;
    this.#context = createSecureContext(this.contextOptions);
    this.#timer = setInterval(() => {
      this.renew().catch(options.onProblem);
    }, CHECK_EVERY_MS).unref();
  }

  static async open(options: NodeIdentityOptions): Promise<NodeIdentity> {
    return new NodeIdentity(options, await options.authority.mint(options.nodeId, options.nowMs()));
  }

  get context(): SecureContext {
    return this.#context;
  }

  get contextOptions(): SecureContextOptions {
    const { certificatePem: cert, privateKeyPem: key } = this.#certificate;
    return { cert, key, ca: this.#options.authority.caPem, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' };
  }

  set onRenewed(listener: () => void) {
    this.#onRenewed = listener;
  }

  async renew(): Promise<void> {
    const { authority, nodeId, nowMs } = this.#options;
    if (this.#certificate.notAfterMs - nowMs() > RENEW_BEFORE_MS) return;
    this.#certificate = await authority.mint(nodeId, nowMs());
    this.#context = createSecureContext(this.contextOptions);
    this.#onRenewed?.();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
