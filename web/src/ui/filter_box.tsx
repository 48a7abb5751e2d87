export function FilterBox({ label, text, onFilter }: { label: string; text: string; onFilter: (text: string) => void }) {
    return (
        <div class="search plain">
            <input type="search" aria-label={label} placeholder={label} value={text} onInput={(event) => onFilter(event.currentTarget.value)} />
        </div>
    );
}
