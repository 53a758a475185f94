/** A dialog over the page; the browser keeps the focus inside and gives it back. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../text/text";
import { Icon } from "./icons";

export function Modal({ title, close, children, kind = "" }: { title: string; close: () => void; children: ComponentChildren; kind?: string }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = element.current;
    shown?.showModal();
    // Closed before it is taken away, so that the focus goes back to where it was.
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={element} class={kind} onClose={close} onCancel={close} onClick={(event) => event.target === element.current && close()} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button class="plain" onClick={close} aria-label={t("Close")}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
