import type { SecureContext } from 'node:tls';
import { messageOf } from '../../../kit/error-text.ts';
import { type DialHandler, dialTls } from '../../../kit/net/dial-tls.ts';
import { parseListenAddress } from '../../../kit/net/listen-address.ts';
import { certifiedNode } from '../../../proxy/pki/certified-node.ts';
import type { NodeRow } from '../node.ts';
import { OutgoingLink, type OutgoingLinkOwner } from './outgoing-link.ts';
import { DIAL_TIMEOUT_MS, PEER_ALPN } from './peer-links.ts';

interface PeerTarget {
  /** `host:port`. The name is resolved for every attempt. */
  readonly address: string;
  /** The certificate must name this node id: another node may have the address by now. */
  readonly nodeId: string;
  readonly context: SecureContext;
}

/** Dials another node as `dialTls` does. */
function dialPeer({ address, nodeId, context }: PeerTarget, handler: DialHandler<string>): () => void {
  const target = parseListenAddress(address);
  if (target === null) {
    const refusal = setImmediate(() => handler(null, `its peer address ${JSON.stringify(address)} is not host:port`));
    return () => clearImmediate(refusal);
  }
  return dialTls<string>(
    {
      part: 'peer dial',
      options: {
        ...target,
        autoSelectFamily: true,
        secureContext: context,
        ALPNProtocols: [PEER_ALPN],
        // The chain is verified by the context; the certificate has no host name.
        checkServerIdentity: () => undefined,
      },
      timeoutMs: DIAL_TIMEOUT_MS,
      check: (socket) => {
        if (socket.alpnProtocol !== PEER_ALPN) return 'what listens there is no Postern node';
        const certified = certifiedNode(socket.getPeerX509Certificate() ?? { subjectAltName: undefined });
        return certified === nodeId ? null : `another node (${certified}) answers there`;
      },
      failed: messageOf,
      closed: () => 'the connection was closed',
      late: () => `no TLS connection within ${DIAL_TIMEOUT_MS} ms`,
    },
    handler,
  );
}

export interface PeerSlotOwner extends OutgoingLinkOwner {
  context(): SecureContext;
  onUnreachable(node: NodeRow, reason: string, sinceMs: number): void;
}

const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 1_000;
/** A node whose lease has ended is most likely gone, and another node may have its address by now. */
const LOST_DELAY_MS = 5_000;
/** Only a link that was useful allows a quick retry. */
const STABLE_MS = 5_000;

/** Keeps one link to another node. *Waiting* → *dialling* → *linked* → *waiting* …, until *closed*. */
export class PeerSlot implements OutgoingLinkOwner {
  readonly #owner: PeerSlotOwner;
  #node: NodeRow;
  #link: OutgoingLink | null = null;
  #cancelDial: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #delayMs = FIRST_DELAY_MS;
  #upAtMs = 0;
  #failingSinceMs: number | null = null;
  #isClosed = false;

  constructor(node: NodeRow, owner: PeerSlotOwner) {
    this.#node = node;
    this.#owner = owner;
    this.#dial();
  }

  get node(): NodeRow {
    return this.#node;
  }

  /** The node's row was read again. */
  update(node: NodeRow): void {
    const isNewAddress = node.peerAddress !== this.#node.peerAddress;
    const isBack = this.#node.status === 'lost' && node.status !== 'lost';
    this.#node = node;
    if ((isNewAddress || isBack) && this.#timer !== null) this.#dial();
  }

  close(reason: string): void {
    this.#isClosed = true;
    this.#cancel();
    this.#link?.fail(reason);
  }

  /** A node that leaves still answers earlier requests. */
  retire(reason: string): void {
    this.#isClosed = true;
    this.#cancel();
    this.#link?.retire(reason);
  }

  /** Cuts the link, and dials again. */
  drop(reason: string): void {
    this.#link?.fail(reason);
  }

  onUp(link: OutgoingLink): void {
    this.#upAtMs = performance.now();
    this.#failingSinceMs = null;
    this.#owner.onUp(link);
  }

  onDown(link: OutgoingLink, reason: string): void {
    if (this.#link === link) this.#link = null;
    const wasUp = this.#upAtMs > 0;
    if (wasUp && performance.now() - this.#upAtMs >= STABLE_MS) this.#delayMs = FIRST_DELAY_MS;
    this.#upAtMs = 0;
    if (wasUp) this.#owner.onDown(link, reason);
    else this.#failed(reason);
    this.#dialLater();
  }

  #dial(): void {
    this.#cancel();
    const { id: nodeId, peerAddress: address } = this.#node;
    if (address === null || this.#isClosed) return;
    this.#cancelDial = dialPeer({ address, nodeId, context: this.#owner.context() }, (socket, problem) => {
      this.#cancelDial = null;
      if (socket !== null) {
        this.#link = new OutgoingLink(socket, this.#node, this);
        return;
      }
      this.#failed(problem ?? 'failed');
      this.#dialLater();
    });
  }

  #failed(reason: string): void {
    const nowMs = performance.now();
    this.#failingSinceMs ??= nowMs;
    if (!this.#isClosed) this.#owner.onUnreachable(this.#node, reason, nowMs - this.#failingSinceMs);
  }

  #dialLater(): void {
    if (this.#isClosed || this.#timer !== null) return;
    const longestMs = this.#node.status === 'lost' ? LOST_DELAY_MS : LONGEST_DELAY_MS;
    // Jitter: nodes that lost the same node must not all return in one instant.
    const delayMs = this.#delayMs * (0.5 + Math.random() / 2);
    this.#delayMs = Math.min(longestMs, 2 * this.#delayMs);
    this.#timer = setTimeout(() => this.#dial(), delayMs);
  }

  #cancel(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#cancelDial?.();
    this.#cancelDial = null;
  }
}
