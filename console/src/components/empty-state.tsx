import type { ComponentChildren } from 'preact';

/** Says what would be here, and the next step towards it. */
export function EmptyState({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
