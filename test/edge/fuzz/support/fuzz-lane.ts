import { FLAG, FRAME, frame, STATUS_200 } from '../../../support/http2-frames.ts';
import type { ClientProtocol, RawPath, RawPaths } from '../../../support/raw-paths.ts';
import type { RawPeer } from '../../../support/raw-peer.ts';
import { http1Answer, http1Request } from './http1-messages.ts';
import { http2Answer, http2Request } from './http2-messages.ts';
import { describeSteps, play, type Step, toSteps } from './script.ts';
import { SeededRandom } from './seeded-random.ts';

/** Maximum duration of a case without progress: both ends wait for something that will not come. */
const CASE_MS = 100;
/** Time for an answer to reach the client: with a hop, a quarter of all cases ended too early after 3 ms. */
const SETTLE_MS = 12;
const HONEST_TRIES = 4;

interface Expected {
  readonly random: SeededRandom;
  readonly isHostile: boolean;
  readonly onPlayed: () => void;
}

/**
 * One client protocol on one path to an upstream: hostile cases, one after the other, and legitimate requests in
 * between.
 */
export class FuzzLane {
  readonly name: string;
  /** Seed of the current case, or of the last one. */
  seed = 0;
  /** Steps of both ends of that case, for the report. */
  requestSteps: readonly Step[] = [];
  answerSteps: readonly Step[] = [];
  readonly #world: RawPaths;
  readonly #path: RawPath;
  readonly #protocol: ClientProtocol;
  /** Null: the upstream responds correctly. */
  #expected: Expected | null = null;

  constructor(world: RawPaths, path: RawPath, protocol: ClientProtocol) {
    this.name = `${protocol} client, ${path.name}`;
    this.#world = world;
    this.#path = path;
    this.#protocol = protocol;
    path.upstream.onPeer = (peer) => this.#serve(peer);
  }

  async run(seed: number): Promise<void> {
    this.seed = seed;
    this.answerSteps = [];
    const random = new SeededRandom(seed);
    const isRequestHostile = random.chance(0.5);
    const { promise: played, resolve: onPlayed } = Promise.withResolvers<void>();
    this.#expected = {
      random: new SeededRandom(seed ^ 0x5bd1e995),
      isHostile: !isRequestHostile || random.chance(0.3),
      onPlayed,
    };
    const { host } = this.#path;
    const parts =
      this.#protocol === 'h2'
        ? http2Request(random, host, 1, isRequestHostile)
        : http1Request(random, host, isRequestHostile);
    this.requestSteps = isRequestHostile ? toSteps(random, parts) : parts;
    const client = await this.#world.client(this.#path, this.#protocol);
    await play(client, this.requestSteps);
    await Promise.race([until(client, isOver), played.then(() => sleep(SETTLE_MS)), sleep(CASE_MS)]);
    if (random.chance(0.3)) client.reset();
    else client.destroy();
    if (random.chance(0.3)) this.#path.upstream.disconnect();
  }

  /** Throws unless an unobjectionable request succeeds. */
  async assertHonest(): Promise<void> {
    this.#expected = null;
    this.#path.upstream.disconnect();
    let last = '';
    for (let at = 0; at < HONEST_TRIES; at += 1) {
      last = await this.#askHonestly();
      if (last.includes('honest')) return;
      // Connections left by the hostile cases may be found dead only now.
      await sleep(50);
    }
    throw new Error(`the honest request got no answer: ${last}`);
  }

  describe(): string {
    const steps = { request: describeSteps(this.requestSteps), answer: describeSteps(this.answerSteps) };
    return `seed ${this.seed}, ${this.name}\n${JSON.stringify(steps, null, 1)}`;
  }

  async #askHonestly(): Promise<string> {
    const client = await this.#world.client(this.#path, this.#protocol);
    if (client.http2 === null) client.send(`GET /honest HTTP/1.1\r\nhost: ${this.#path.host}\r\n\r\n`);
    else client.send(...http2Request(new SeededRandom(1), this.#path.host, 1, false));
    await Promise.race([until(client, (peer) => isOver(peer) || peer.received.includes('honest')), sleep(5_000)]);
    const text = client.http2 === null ? client.received : client.http2.data(1).toString();
    const description = client.describe();
    client.destroy();
    return text.includes('honest') ? text : description;
  }

  #serve(peer: RawPeer): void {
    const { http2 } = peer;
    if (http2 !== null) {
      http2.onFrame = ({ type, stream }) => {
        http2.frames.length = 0;
        if (type === FRAME.headers) this.#answer(peer, stream);
      };
      return;
    }
    peer.socket.on('data', () => {
      if (!peer.received.includes('\r\n\r\n')) return;
      peer.received = '';
      this.#answer(peer, 0);
    });
  }

  #answer(peer: RawPeer, stream: number): void {
    const expected = this.#expected;
    if (expected === null) {
      if (peer.http2 === null) peer.send('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhonest');
      else {
        const head = frame(FRAME.headers, FLAG.endHeaders, stream, STATUS_200);
        peer.send(head, frame(FRAME.data, FLAG.endStream, stream, 'honest'));
      }
      return;
    }
    const { random, isHostile, onPlayed } = expected;
    const parts = peer.http2 === null ? http1Answer(random, isHostile) : http2Answer(random, stream, isHostile);
    this.answerSteps = isHostile ? toSteps(random, parts) : parts;
    void play(peer, this.answerSteps).then(onPlayed);
  }
}

function isOver({ http2, isClosed, hasFin }: RawPeer): boolean {
  return isClosed || hasFin || http2?.hasEnd(1) === true || http2?.resetCode(1) != null;
}

/** Never rejects. */
function until(peer: RawPeer, check: (peer: RawPeer) => boolean): Promise<void> {
  return peer.until(check, 'over', 6_000).catch(() => {});
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
