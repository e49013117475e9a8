// The list that completes `@` and `/` in the field.
import { useEffect, useRef } from "preact/hooks";
import type { Offer } from "../messages.ts";
import { Icon } from "./parts.tsx";

export function Offers({ offers, chosen, take }: {
  offers: Offer[]; chosen: number; take: (offer: Offer) => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return <ul id="offers" role="listbox" aria-label="Suggestions" ref={list}>
    {offers.map((offer, at) => <li role="option" id={`offer${at}`} aria-selected={at === chosen}
      onMouseDown={(event) => {
        // The field keeps the keys.
        event.preventDefault();
        take(offer);
      }}>
      <Icon name={offer.icon} /><span class="label">{offer.label}</span>
      {offer.detail && <span class="quiet">{offer.detail}</span>}
    </li>)}
  </ul>;
}
