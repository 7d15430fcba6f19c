import type { ComponentChildren } from 'preact';
import type { Loaded } from '../api/use-loaded.ts';
import { ErrorNotice, NotAvailable } from './notice.tsx';
import { Skeleton } from './skeleton.tsx';

interface LoadedViewProps<Data> {
  readonly loaded: Loaded<Data>;
  /** Subject of "… is not available on this server". */
  readonly what: string;
  readonly lines?: number;
  readonly children: (data: Data) => ComponentChildren;
}

export function LoadedView<Data>({ loaded, what, lines = 4, children }: LoadedViewProps<Data>) {
  const { data, error, reload } = loaded;
  if (data !== null) {
    return (
      <>
        {error !== null && <ErrorNotice error={error} retry={reload} />}
        {children(data)}
      </>
    );
  }
  if (error?.isUnavailable === true) return <NotAvailable what={what} />;
  if (error !== null) return <ErrorNotice error={error} retry={reload} />;
  return <Skeleton lines={lines} />;
}
