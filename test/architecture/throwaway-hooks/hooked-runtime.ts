import type { ModuleRuntime, RuntimePorts } from '../../../src/modules/contract/keeps-state.ts';
import type { BackendOutcome } from '../../../src/modules/contract/prepared-module.ts';
import { type HookedNotes, hookedNotes } from './hooked-notes.ts';

export const NOTE_KIND = 'hooked_note';
export const MARK_KIND = 'hooked_mark';

/** Uses every port once, and remembers what came of it. */
export class HookedRuntime implements ModuleRuntime {
  readonly seen: Record<string, unknown> = {};
  readonly count: (value: string) => void;
  readonly notes: HookedNotes;
  readonly #ports: RuntimePorts;
  readonly #stops: readonly (() => void)[];

  private constructor(ports: RuntimePorts, settings: { readonly hooked_bytes: number }) {
    const { seen } = this;
    this.#ports = ports;
    this.notes = ports.shared(hookedNotes);
    this.count = ports.counter({ name: 'hooked_events_total', help: 'Things that happened.', label: 'event' });
    this.#stops = [
      ports.timers.every(1, () => {
        seen['ticked'] = true;
      }),
      ports.followed.onChange(([first]) => {
        seen['heard'] = first?.kind !== undefined;
      }),
    ];
    const { memory, thread } = ports.nodeMemory();
    seen['memory'] = [memory.byteLength, thread];
    seen['bytes'] = settings.hooked_bytes;
    seen['now'] = ports.clock.nowMs() > 0;
    seen['id'] = ports.newId('toy').startsWith('toy_');
    seen['random'] = ports.randomText(32).length;
    seen['opened'] = ports.open('hooked', ports.seal('hooked', 'text'));
    seen['mac'] = ports.mac('hooked', 'text').length;
    seen['configs'] = ports.ownConfigs('edghts_none').length;
    seen['may reach metadata'] = ports.network.isAddressAllowed('169.254.169.254', 80);
    ports.log.info({ hooked: true }, 'the hooked module is open');
  }

  settled(path: string, outcome: BackendOutcome): void {
    this.count(outcome);
    this.#ports.event('hooked_seen.v0', { path });
  }

  static async open(ports: RuntimePorts, settings: { readonly hooked_bytes: number }): Promise<HookedRuntime> {
    const runtime = new HookedRuntime(ports, settings);
    const { seen } = runtime;
    const record = { id: 'note', doc: { text: 'a note' }, secret: { field: 'key', text: 'a secret' } };
    await ports.records.add(NOTE_KIND, record);
    seen['records'] = ports.records.list(NOTE_KIND);
    await ports.records.remove(NOTE_KIND, 'note');
    seen['records left'] = ports.records.list(NOTE_KIND).length;
    seen['foreign records'] = await Promise.resolve()
      .then(() => ports.records.list('api_key'))
      .then(
        () => 'readable',
        () => 'refused',
      );
    const fetch = ports.network.createFetch({ isAddressAllowed: () => true, isPlainHttpAllowed: () => true });
    seen['fetched'] = await fetch('http://169.254.169.254/').then(
      () => 'answered',
      () => 'refused',
    );
    await ports.timers.sleep(1);
    return runtime;
  }

  edgeChanged(edgeId: string): void {
    if (this.seen['edge changed'] === true) return;
    this.seen['edge changed'] = true;
    this.#follow(edgeId).catch((error: unknown) => {
      this.seen['followed'] = String(error);
    });
  }

  async #follow(edgeId: string): Promise<void> {
    const { followed } = this.#ports;
    await followed.refresh();
    await followed.catchUp();
    const edge = followed.get('https_edge', edgeId);
    const key = { kind: MARK_KIND, id: 'mark' };
    const put = { ...key, parent: edgeId, doc: { text: 'a mark' }, seen: undefined };
    const isWritten = await followed.write([put], edge === undefined ? [] : [edge]);
    const [mark] = followed.all(MARK_KIND);
    const isWrittenAgain = await followed.write([put]);
    await followed.remove(MARK_KIND, 'mark');
    followed.recompile('https_edge', edgeId);
    this.seen['followed'] = {
      current: followed.isCurrent(),
      written: isWritten,
      'written again': isWrittenAgain,
      doc: mark?.doc,
      revision: typeof mark?.revision,
    };
  }

  close(): Promise<void> {
    for (const stop of this.#stops) stop();
    return Promise.resolve();
  }
}
