import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { goneSince } from '../api/server-presence.ts';
import { path } from '../router/location.ts';
import { CurrentPage } from './current-page.tsx';
import { PendingBanner } from './pending-banner.tsx';
import { ServerBanner } from './server-banner.tsx';
import { SideNav } from './side-nav.tsx';
import { TopBar } from './top-bar.tsx';

export function Frame() {
  const isOpen = useSignal(false);
  const current = path.value;
  useEffect(() => {
    isOpen.value = false;
  }, [current]);
  return (
    <>
      <a class="skip-link" href="#content">
        Skip to the content
      </a>
      <TopBar isMenuOpen={isOpen} />
      <div class="frame">
        <SideNav isOpen={isOpen} />
        <button
          type="button"
          class={`drawer-shade ${isOpen.value ? 'open' : ''}`}
          aria-label="Close the navigation"
          tabIndex={-1}
          onClick={() => {
            isOpen.value = false;
          }}
        />
        <main id="content" tabIndex={-1} class={goneSince.value === null ? '' : 'stale'}>
          <ServerBanner />
          <PendingBanner />
          <CurrentPage />
        </main>
      </div>
    </>
  );
}
