import { reportBug } from '../../lib/bug-report.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { type PeerMessage, PeerRefusal } from '../../nodes/links/peer-links.ts';

/** A line is a control message of an agent, at most 64 KiB, or a node's message about a session. */
const MAX_LINE_CHARACTERS = 262_144;

interface Sender {
  number: number;
  text: string;
}

/** The other end of `Outbox`: lines of each node in order, each once. */
export class Inbox {
  readonly #senders = new Map<string, Sender>();
  readonly #onLine: (line: JsonObject, nodeId: string) => void;

  constructor(onLine: (line: JsonObject, nodeId: string) => void) {
    this.#onLine = onLine;
  }

  receive({ number, start, text }: PeerMessage, nodeId: string): void {
    if (typeof number !== 'number' || typeof text !== 'string') {
      throw new PeerRefusal('peer_message', 'a message has a wrong field');
    }
    const sender = this.#senders.get(nodeId) ?? { number: 0, text: '' };
    this.#senders.set(nodeId, sender);
    // The message was carried out before, and the answer was lost.
    if (number <= sender.number) return;
    // The sender starts over with whole lines after it dropped some.
    if (start === true) sender.text = '';
    else if (number !== sender.number + 1) throw new PeerRefusal('peer_message', 'a message is missing');
    sender.number = number;
    const lines = (sender.text + text).split('\n');
    sender.text = lines.pop() ?? '';
    if (sender.text.length > MAX_LINE_CHARACTERS) {
      sender.text = '';
      throw new PeerRefusal('peer_message', 'a line is too long');
    }
    for (const line of lines) this.#line(line, nodeId);
  }

  forgetGone(isGone: (nodeId: string) => boolean): void {
    for (const nodeId of [...this.#senders.keys()]) if (isGone(nodeId)) this.#senders.delete(nodeId);
  }

  #line(line: string, nodeId: string): void {
    try {
      const value: unknown = JSON.parse(line);
      if (isJsonObject(value)) this.#onLine(value, nodeId);
    } catch (error) {
      // One wrong line of one node must not end the sessions of other nodes.
      reportBug(error, { part: 'session messages', node: nodeId });
    }
  }
}
