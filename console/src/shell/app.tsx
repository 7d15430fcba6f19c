import { useEffect } from 'preact/hooks';
import { session } from '../api/session-token.ts';
import { Toasts } from '../components/toast.tsx';
import { LoginPage } from '../pages/login/login-page.tsx';
import { loadApiDocument } from '../schema/openapi-document.ts';
import { Frame } from './frame.tsx';

export function App() {
  const isLoggedIn = session.value !== null && session.value !== undefined;
  useEffect(() => {
    if (isLoggedIn) void loadApiDocument();
  }, [isLoggedIn]);
  if (session.value === undefined) return null;
  return (
    <>
      {isLoggedIn ? <Frame /> : <LoginPage />}
      <Toasts />
    </>
  );
}
