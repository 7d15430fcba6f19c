import { get, type IncomingMessage } from 'node:http';
import { TEST_API_KEY, type TestWorld } from './test-world.ts';

export interface LiveLine {
  readonly topic: string;
  readonly at: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  readonly data: any;
}

/** A reader of GET /live. */
export class LiveView {
  readonly lines: LiveLine[] = [];
  readonly response: IncomingMessage;
  isEnded = false;
  #rest = '';

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    for (const event of ['end', 'error', 'close']) {
      response.on(event, () => {
        this.isEnded = true;
      });
    }
  }

  static open(
    world: Pick<TestWorld, 'baseUrl'>,
    query = '',
    headers: Readonly<Record<string, string>> = { authorization: `Bearer ${TEST_API_KEY}` },
  ): Promise<LiveView> {
    return new Promise((resolve, reject) => {
      const request = get(`${world.baseUrl}/live?${query}`, { agent: false, headers }, (response) =>
        resolve(new LiveView(response)),
      );
      request.on('error', reject);
    });
  }

  with(topic: string): readonly LiveLine[] {
    return this.lines.filter((line) => line.topic === topic);
  }

  close(): void {
    this.response.destroy();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.lines.push(JSON.parse(line) as LiveLine);
  }
}
