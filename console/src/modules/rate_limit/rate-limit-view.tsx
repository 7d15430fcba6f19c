import { Chip } from '../../components/chip.tsx';
import type { ModuleViewProps } from '../module-view.ts';
import { RehearsalNote } from '../rehearsal-note.tsx';

interface Limit {
  readonly limit: number;
  readonly window_seconds: number;
  readonly burst: number;
  readonly key: string;
}

export function RateLimitView({ config }: ModuleViewProps) {
  const limits = Array.isArray(config['limits']) ? (config['limits'] as Limit[]) : [];
  return (
    <div class="stack-small">
      <RehearsalNote config={config} what="The limits" />
      <ul class="stack-small">
        {limits.map((limit, index) => (
          <li key={index} class="line">
            <Chip tone="accent">{limit.key}</Chip>
            <span class="wrap-anywhere" dir="auto">
              {limitText(limit)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function limitText({ limit, window_seconds: seconds, burst }: Limit): string {
  const window = seconds === 1 ? 'per second' : `in ${seconds} seconds`;
  const atOnce = burst === 0 ? limit : burst;
  return `${limit} ${limit === 1 ? 'request' : 'requests'} ${window}, ${atOnce} at once`;
}
