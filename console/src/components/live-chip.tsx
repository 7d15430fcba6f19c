import { goneSince } from '../api/server-presence.ts';
import type { LiveState } from '../api/use-live.ts';
import { Chip, type Tone } from './chip.tsx';

const STATES: Readonly<Record<LiveState, readonly [text: string, tone: Tone]>> = {
  connecting: ['connecting …', 'plain'],
  live: ['live', 'ok'],
  waiting: ['connection lost, trying again', 'warn'],
  unavailable: ['not live on this server', 'plain'],
  paused: ['paused', 'plain'],
};

export function LiveChip({ state }: { state: LiveState }) {
  const [text, tone] = STATES[goneSince.value === null ? state : 'waiting'];
  return (
    <span class="line" role="status">
      <Chip tone={tone}>{text}</Chip>
    </span>
  );
}
