import { signal } from '@preact/signals';
import { Icon } from './icon.tsx';

interface Toast {
  readonly id: number;
  readonly tone: 'ok' | 'warn' | 'danger';
  readonly text: string;
}

const SHOWN_MS = 6_000;
const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/** Announced politely; warnings stay until they are closed. */
export function toast(text: string, tone: Toast['tone'] = 'ok'): void {
  lastId += 1;
  const id = lastId;
  toasts.value = [...toasts.value.slice(-3), { id, tone, text }];
  if (tone === 'ok') setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text }) => (
        <div key={id} class={`notice toast ${tone}`}>
          <span>{text}</span>
          <button type="button" class="plain icon-only small" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
